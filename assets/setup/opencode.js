// Written by `tome setup opencode`; `tome setup opencode --remove` takes it away.
// Tells tome what happens in a session. Whatever goes wrong here, OpenCode goes on.
import { spawn } from "node:child_process"

const PROGRAM = "tome"
// What it does before an action, as it was set up.
const FLAGS = []
// How long to wait for an answer, in milliseconds; there is one in a few.
const LIMIT = 2000

function tell(cwd, said) {
  return new Promise((resolve) => {
    const nothing = () => resolve({})
    try {
      const child = spawn(PROGRAM, ["hook", "opencode", ...FLAGS], { cwd, stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => {
        child.kill("SIGKILL")
        nothing()
      }, LIMIT)
      let out = ""
      child.on("error", nothing)
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.on("data", (part) => (out += part))
      child.on("close", (code) => {
        clearTimeout(timer)
        try {
          resolve((code === 0 && JSON.parse(out)) || {})
        } catch {
          nothing()
        }
      })
      child.stdin.end(JSON.stringify({ cwd, ...said }))
    } catch {
      nothing()
    }
  })
}

export const Tome = async ({ directory }) => {
  // What a session starts with, asked for once; and what is left to say to it, said once.
  const context = new Map()
  const left = new Map()
  // What was said before a call that has not ended.
  const before = new Map()
  // Who speaks in each message, and the last answer of each session.
  const roles = new Map()
  const answers = new Map()
  // The session that started each subagent.
  const parents = new Map()
  const who = (session) => (parents.has(session) ? { session_id: parents.get(session), agent_id: session } : { session_id: session })
  const start = (session_id, source) => {
    if (!context.has(session_id)) {
      const name = parents.has(session_id) ? "SubagentStart" : "SessionStart"
      const said = { hook_event_name: name, ...who(session_id), source }
      context.set(session_id, tell(directory, said).then((told) => told.additionalContext))
    }
    return context.get(session_id)
  }
  return {
    event: async ({ event }) => {
      const session_id = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created") {
        const parent = event.properties?.info?.parentID
        if (parent) parents.set(session_id, parent)
        await start(session_id, "startup")
      } else if (event.type === "session.idle") {
        const name = parents.has(session_id) ? "SubagentStop" : "Stop"
        const said = { hook_event_name: name, ...who(session_id), last_assistant_message: answers.get(session_id) ?? "" }
        const told = await tell(directory, said)
        if (told.additionalContext) left.set(session_id, told.additionalContext)
      } else if (event.type === "message.updated") {
        roles.set(event.properties.info.id, event.properties.info.role)
      } else if (event.type === "message.part.updated") {
        const part = event.properties.part
        if (part.type === "text" && roles.get(part.messageID) === "assistant") answers.set(part.sessionID, part.text)
      } else if (event.type === "session.deleted") {
        await tell(directory, { hook_event_name: "SessionEnd", ...who(session_id) })
      } else if (event.type === "session.compacted") {
        await tell(directory, { hook_event_name: "PostCompact", ...who(session_id) })
      }
    },
    "chat.message": async (input, output) => {
      const text = (output.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
      const told = await tell(directory, { hook_event_name: "UserPromptSubmit", ...who(input.sessionID), prompt: text })
      if (told.additionalContext) left.set(input.sessionID, told.additionalContext)
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID) return
      // A session that is taken up again was not created.
      const told = await start(input.sessionID, "resume")
      for (const text of [told, left.get(input.sessionID)]) {
        if (text) output.system.push(text)
      }
      left.delete(input.sessionID)
    },
    "experimental.session.compacting": async (input) => {
      await tell(directory, { hook_event_name: "PreCompact", ...who(input.sessionID) })
    },
    "tool.execute.before": async (input, output) => {
      if (FLAGS.length === 0) return
      const said = { hook_event_name: "PreToolUse", ...who(input.sessionID), tool_name: input.tool, tool_input: output.args ?? {} }
      const told = await tell(directory, said)
      // The call runs; what is said comes with its result.
      if (told.additionalContext) before.set(input.callID, told.additionalContext)
    },
    "tool.execute.after": async (input, output) => {
      const told = await tell(directory, {
        hook_event_name: "PostToolUse",
        ...who(input.sessionID),
        tool_name: input.tool,
        tool_input: input.args ?? output.metadata ?? {},
        tool_response: output.output ?? output.content ?? "",
      })
      for (const text of [before.get(input.callID), told.additionalContext]) {
        if (text) output.output = `${output.output ?? ""}\n\n${text}`
      }
      before.delete(input.callID)
    },
  }
}

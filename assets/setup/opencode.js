// Written by `tome setup opencode`; `tome setup opencode --remove` takes it away.
// Tells tome what happens in a session. Whatever goes wrong here, OpenCode goes on.
import { spawn } from "node:child_process"

const PROGRAM = "tome"

function tell(cwd, said) {
  return new Promise((resolve) => {
    try {
      const child = spawn(PROGRAM, ["hook", "opencode"], { cwd, stdio: ["pipe", "pipe", "ignore"] })
      let out = ""
      child.on("error", () => resolve({}))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => (out += part))
      child.on("close", () => {
        try {
          resolve(JSON.parse(out))
        } catch {
          resolve({})
        }
      })
      child.stdin.end(JSON.stringify({ cwd, ...said }))
    } catch {
      resolve({})
    }
  })
}

export const Tome = async ({ directory }) => {
  const context = new Map()
  return {
    event: async ({ event }) => {
      const session_id = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created") {
        const told = await tell(directory, { hook_event_name: "SessionStart", session_id, source: "startup" })
        if (told.additionalContext) context.set(session_id, told.additionalContext)
      } else if (event.type === "session.idle") {
        await tell(directory, { hook_event_name: "Stop", session_id })
      } else if (event.type === "session.deleted") {
        await tell(directory, { hook_event_name: "SessionEnd", session_id })
      } else if (event.type === "session.compacted") {
        await tell(directory, { hook_event_name: "PostCompact", session_id })
      }
    },
    "chat.message": async (input, output) => {
      const text = (output.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
      await tell(directory, { hook_event_name: "UserPromptSubmit", session_id: input.sessionID, prompt: text })
    },
    "experimental.chat.system.transform": async (input, output) => {
      const told = context.get(input?.sessionID)
      if (told) output.system.push(told)
    },
    "tool.execute.after": async (input, output) => {
      const told = await tell(directory, {
        hook_event_name: "PostToolUse",
        session_id: input.sessionID,
        tool_name: input.tool,
        tool_input: input.args ?? output.metadata ?? {},
        tool_response: output.output ?? "",
      })
      if (told.additionalContext) output.output = `${output.output ?? ""}\n\n${told.additionalContext}`
    },
  }
}

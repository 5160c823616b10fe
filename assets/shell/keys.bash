# Alt-M puts what you pick from memories and logs at the cursor, as a citation; Alt-Shift-M the
# command that continues the session you pick.
__tome_pick() {
  local picked
  picked=$(tome pick "$@") || return
  READLINE_LINE=${READLINE_LINE:0:READLINE_POINT}$picked${READLINE_LINE:READLINE_POINT}
  READLINE_POINT=$((READLINE_POINT + ${#picked}))
}
bind -x '"\em": __tome_pick'
bind -x '"\eM": __tome_pick --print resume in:logs'

# Alt-M puts what you pick from memories and logs at the cursor, as a citation; Alt-Shift-M the
# command that continues the session you pick.
__tome_pick() {
  local picked
  picked=$(tome pick "$@" </dev/tty)
  [[ -n $picked ]] && LBUFFER+=$picked
  zle reset-prompt
}
__tome_resume() { __tome_pick --print resume in:logs }
zle -N __tome_pick
zle -N __tome_resume
bindkey '^[m' __tome_pick
bindkey '^[M' __tome_resume

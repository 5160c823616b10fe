# Alt-M puts what you pick from memories and logs at the cursor, as a citation; Alt-Shift-M the
# command that continues the session you pick.
function __tome_pick
    set -l picked (tome pick $argv)
    and commandline --insert -- (string join ' ' -- $picked)
    commandline --function repaint
end
bind \em __tome_pick
bind \eM '__tome_pick --print resume in:logs'

# Prefix M opens the finder over the pane and types what you pick into it, as a citation.
bind-key M display-popup -E -w 90% -h 90% -d '#{pane_current_path}' 'picked=$(tome pick | paste -sd " " -); [ -n "$picked" ] && tmux send-keys -l -- "$picked"'

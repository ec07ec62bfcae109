#!/bin/bash
# Writes the manual pages and the completion of shells into an installation, as its own command prints them:
#   tools/install_words.sh PREFIX
set -euo pipefail
prefix=$1
shoal=$prefix/bin/shoal
umask 022
mkdir -p "$prefix"/share/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$shoal" --man >"$prefix/share/man/man1/shoal.1"
for command in $("$shoal" complete ''); do
  "$shoal" "$command" --man >"$prefix/share/man/man1/shoal-$command.1"
done
"$shoal" completion bash >"$prefix/share/bash-completion/completions/shoal"
"$shoal" completion zsh >"$prefix/share/zsh/site-functions/_shoal"
"$shoal" completion fish >"$prefix/share/fish/vendor_completions.d/shoal.fish"

import { Option, type Command } from 'commander';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .summary('a completion script for your shell')
    .addOption(new Option('--shell <shell>', 'which shell').choices(['bash', 'zsh']).default('bash'))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(millrace completion)\n  millrace completion --shell zsh > ~/.zfunc/_millrace',
    )
    .action(({ shell }: { shell: string }) => {
      process.stdout.write(script(program, shell));
    });
}

/** Words by command path, so that the script needs nothing of ours at completion time. */
function script(program: Command, shell: string): string {
  const cases = paths(program).map(({ path, words }) => `    "${path}") words="${words.join(' ')}" ;;`);
  const zsh = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
  return `${zsh}_millrace() {
  local path="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _millrace millrace
`;
}

function paths(command: Command, path = ''): { path: string; words: string[] }[] {
  const flags = command.options.flatMap(({ long }) => (long ? [long] : []));
  const own = { path, words: [...command.commands.map((sub) => sub.name()), ...flags, '--help'] };
  return [own, ...command.commands.flatMap((sub) => paths(sub, path ? `${path} ${sub.name()}` : sub.name()))];
}

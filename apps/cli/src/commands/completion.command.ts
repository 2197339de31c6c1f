import { Option, type Command } from 'commander';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .summary('a completion script for your shell')
    .addOption(
      new Option('--shell <shell>', 'which shell').choices(['bash', 'zsh', 'fish'] as const).default('bash'),
    )
    .addHelpText(
      'after',
      `
Examples:
  source <(millrace completion)
  millrace completion --shell zsh > ~/.zfunc/_millrace
  millrace completion --shell fish > ~/.config/fish/completions/millrace.fish

Exit codes: 0 printed, 64 wrong usage`,
    )
    .action(({ shell }: { shell: string }) => {
      const places = placesOf(program);
      process.stdout.write(shell === 'fish' ? fishScript(places) : bashScript(places, shell === 'zsh'));
    });
}

/** A command by the words that lead to it, such as `/dlq/list`, with all that may follow, in any order. */
interface Place {
  path: string;
  commands: readonly Command[];
  options: readonly Option[];
}

/** Every command; options of a command hold for those below it. */
function placesOf(command: Command, path = '', above: readonly Option[] = []): Place[] {
  const options = [...command.options, ...above];
  const below = command.commands.flatMap((sub) => placesOf(sub, `${path}/${sub.name()}`, options));
  return [{ path, commands: command.commands, options }, ...below];
}

/** What may stand at a place. */
function wordsAt({ path, commands, options }: Place): string {
  const names = commands.map((sub) => sub.name());
  const flags = options.flatMap(({ long }) => long ?? []);
  return `    "${path}") words="${[...names, ...flags, '--help'].join(' ')}" ;;\n`;
}

/** What may follow the options that want a value. */
function valuesAt({ path, options }: Place): string[] {
  return options
    .filter(({ required }) => required)
    .map(({ short, long, argChoices = [] }) => {
      const at = [short, long].flatMap((flag) => (flag ? [`"${path} ${flag}"`] : []));
      return `    ${at.join('|')}) words="${argChoices.join(' ')}" ;;\n`;
    });
}

/** Words by place, so that the script needs nothing of ours at completion time. zsh runs the script of bash. */
function bashScript(places: readonly Place[], zsh: boolean): string {
  const known = places.slice(1).map(({ path }) => path);
  return `${zsh ? '#compdef millrace\nautoload -U +X bashcompinit && bashcompinit\n' : ''}_millrace() {
  local path="" word words="" current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path/$word" in ${known.join('|')}) path="$path/$word" ;; esac
  done
  case "$path" in
${places.map(wordsAt).join('')}  esac
  case "$path \${COMP_WORDS[COMP_CWORD-1]}" in
${places.flatMap(valuesAt).join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _millrace millrace
`;
}

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const at = `complete -c millrace -n '__millrace_at "${path}"'`;
    return [
      ...commands.map((sub) => `${at} -a ${sub.name()} -d ${quoted(sub.summary())}`),
      ...options.map((option) => `${at} ${fishOption(option)}`),
    ];
  });
  const known = places.slice(1).map(({ path }) => path);
  return `function __millrace_at
    set -l path ""
    for word in (commandline -opc)[2..-1]
        if contains -- "$path/$word" ${known.join(' ')}
            set path "$path/$word"
        end
    end
    test "$path" = "$argv[1]"
end
${lines.join('\n')}
`;
}

function fishOption({ short, long, required, argChoices, description }: Option): string {
  const names = [short && `-s ${short.slice(1)}`, long && `-l ${long.slice(2)}`].filter(Boolean);
  const value = argChoices ? ` -x -a ${quoted(argChoices.join(' '))}` : required ? ' -r' : '';
  return `${names.join(' ')}${value} -d ${quoted(description)}`;
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

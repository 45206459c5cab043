import type { Command } from './command.ts'
import {
  firstWords,
  groupsOf,
  namesOf,
  optionsWithValue,
  secondWords,
  takesFiles,
} from './completion-words.ts'
import { globalOptions } from './options.ts'
import { optionsOf } from './parse.ts'

const wordsOf = (choices: { word: string }[]) => choices.map(({ word }) => word).join(' ')

export function bashScript(commands: Command[]): string {
  const values = optionsWithValue(commands).map(
    ({ names, values }) => `    ${names.join(' | ')}) choices='${values.join(' ')}' ;;`,
  )
  const groups = groupsOf(commands).map(
    (group) => `    '${group} ') choices='${wordsOf(secondWords(commands, group))}' ;;`,
  )
  const globals = Object.keys(globalOptions).map((name) => `--${name}`)
  return `# Completion of kinora for bash. To use it: source <(kinora completion bash)
_kinora() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local word words=() choices='' files=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    [[ $word == -* ]] || words+=("$word")
  done
  [[ \${words[0]-} != help ]] || words=("\${words[@]:1}")
  case $previous in
${values.join('\n')}
  *)
    case "\${words[0]-} \${words[1]-}" in
${commands.map(formatCase).join('\n')}
${groups.join('\n')}
    ' ') choices='${wordsOf(firstWords(commands))} ${globals.join(' ')}' ;;
    esac
    ;;
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
  if [[ $files && $current != -* ]]; then
    compopt -o filenames
    mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _kinora kinora
`
}

/** The words of a command may be followed by operands. */
function formatCase(command: Command): string {
  const options = Object.entries(optionsOf(command)).flatMap(([name, option]) => namesOf(name, option))
  const choices = [...(command.operandValues ?? []), ...options].join(' ')
  const pattern = command.name.includes(' ') ? `'${command.name}'` : `'${command.name} '*`
  return `    ${pattern}) choices='${choices}'${takesFiles(command) ? ' files=1' : ''} ;;`
}

import type { Command, Option } from './command.ts'
import { type Choice, firstWords, groupsOf, namesOf, secondWords, takesFiles } from './completion-words.ts'
import { optionsOf } from './parse.ts'

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const describe = (choices: Choice[]) =>
  choices.map(({ word, meaning }) => quote(`${word}:${meaning.replaceAll(':', '\\:')}`)).join(' ')

export function zshScript(commands: Command[]): string {
  const groups = groupsOf(commands)
  const seconds = groups.map(
    (group) => `    ${group}) choices=(${describe(secondWords(commands, group))}) ;;`,
  )
  return `#compdef kinora
# Completion of kinora for zsh. To use it: kinora completion zsh > "$fpath[1]/_kinora"
_kinora() {
  local -a choices
  local length=1
  if [[ $words[2] == help ]]; then
    words[2]=()
    (( CURRENT-- ))
  fi
  if (( CURRENT == 2 )); then
    choices=(${describe(firstWords(commands))})
    _describe command choices
    return
  fi
  case $words[2] in
    ${groups.join('|')}) length=2 ;;
  esac
  if (( CURRENT == 3 && length == 2 )); then
    case $words[2] in
${seconds.join('\n')}
    esac
    _describe command choices
    return
  fi
  local name="\${(j: :)words[2,length + 1]}"
  shift $length words
  (( CURRENT -= length ))
  case $name in
${commands.map(formatCase).join('\n')}
  esac
}
if [[ $funcstack[1] == _kinora ]]; then _kinora "$@"; else compdef _kinora kinora; fi
`
}

function formatCase(command: Command): string {
  const options = Object.entries(optionsOf(command)).flatMap(([name, option]) => formatOption(name, option))
  return `    ${quote(command.name)}) _arguments ${[...options, ...formatOperands(command)].join(' ')} ;;`
}

/** Without a description of the operands, zsh completes no option after them. */
function formatOperands(command: Command): string[] {
  const { operands, operandValues } = command
  if (operandValues) return [quote(`1:${operands[0]}:(${operandValues.join(' ')})`)]
  if (takesFiles(command)) return ["'*:file:_files'"]
  return operands.map((name, i) => quote(`${i + 1}:${name}:`))
}

/** `-l` and `--language` are given once each, because zsh expands `{-l,--language}` only outside of quotes. */
function formatOption(name: string, option: Option): string[] {
  const names = namesOf(name, option)
  const meaning = option.meaning.replaceAll(/[[\]:]/g, '\\$&')
  const value =
    option.type === 'string' ? `:${option.value}:${option.values ? `(${option.values.join(' ')})` : ''}` : ''
  return names.map((each) => quote(`(${names.join(' ')})${each}[${meaning}]${value}`))
}

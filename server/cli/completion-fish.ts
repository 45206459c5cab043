import type { Command, Option } from './command.ts'
import { firstWords, groupsOf, secondWords, takesFiles } from './completion-words.ts'
import { globalOptions } from './options.ts'
import { optionsOf } from './parse.ts'

const quote = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

export function fishScript(commands: Command[]): string {
  const choices = [
    ...firstWords(commands).map(({ word, meaning }) => ({ after: '', word, meaning })),
    ...groupsOf(commands).flatMap((group) =>
      secondWords(commands, group).map((each) => ({ after: ` ${group}`, ...each })),
    ),
  ]
  return `# Completion of kinora for fish. To use it: kinora completion fish > ~/.config/fish/completions/kinora.fish
function __kinora_words
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; or test $word = help; or echo $word
    end
end
# The words before the cursor are exactly these.
function __kinora_after
    test "$(__kinora_words)" = "$argv"
end
# The words before the cursor begin with these.
function __kinora_in
    set -l words (__kinora_words)
    set -l length (count $argv)
    test "$words[1..$length]" = "$argv"
end
complete -c kinora -f
${choices.map(({ after, word, meaning }) => `complete -c kinora -n '__kinora_after${after}' -a ${word} -d ${quote(meaning)}`).join('\n')}
${Object.entries(globalOptions)
  .map(([name, option]) => formatOption('complete -c kinora -n __kinora_after', name, option))
  .join('\n')}
${commands.flatMap(formatCommand).join('\n')}
`
}

function formatCommand(command: Command): string[] {
  const prefix = `complete -c kinora -n '__kinora_in ${command.name}'`
  const options = Object.entries(optionsOf(command)).map(([name, option]) =>
    formatOption(prefix, name, option),
  )
  const operands = command.operandValues ? [`${prefix} -a ${quote(command.operandValues.join(' '))}`] : []
  return [...options, ...operands, ...(takesFiles(command) ? [`${prefix} -F`] : [])]
}

function formatOption(prefix: string, name: string, { short, type, values, meaning }: Option): string {
  const value = `-x${values ? ` -a ${quote(values.join(' '))}` : ''}`
  const parts = [`${prefix} -l ${name}`, short && `-s ${short}`, type === 'string' && value]
  return [...parts, `-d ${quote(meaning)}`].filter(Boolean).join(' ')
}

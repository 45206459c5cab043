import { type Command, command } from './command.ts'
import { bashScript } from './completion-bash.ts'
import { fishScript } from './completion-fish.ts'
import { zshScript } from './completion-zsh.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }
const shells = Object.keys(scripts) as (keyof typeof scripts)[]

/** The list of commands contains this command, so it is passed as a function. */
export const completionCommand = (listCommands: () => Command[]) =>
  command({
    name: 'completion',
    summary: 'Print a completion script for bash, zsh or fish',
    operands: ['SHELL'],
    operandValues: shells,
    options: {},
    details: [
      'The script completes commands, options and file names of a kinora command that is installed, not of npx kinora.',
    ],
    examples: [
      "echo 'source <(kinora completion bash)' >> ~/.bashrc",
      'kinora completion zsh > "$fpath[1]/_kinora"',
      'kinora completion fish > ~/.config/fish/completions/kinora.fish',
    ],
    async run({ operands: [name] }) {
      const shell = shells.find((each) => each === name)!
      process.stdout.write(scripts[shell](listCommands()))
    },
  })

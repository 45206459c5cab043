import { backupCommands } from './backups.ts'
import { type Command, command } from './command.ts'
import { completionCommand } from './completion.ts'
import { doctorCommand } from './doctor.ts'
import { eventsCommands } from './events.ts'
import { exportCommand } from './export.ts'
import { filesCommands } from './files.ts'
import { healthCommand } from './health.ts'
import { importCommands } from './import.ts'
import { keysCommands } from './keys.ts'
import { liveCommands } from './live.ts'
import { loginCommands } from './login.ts'
import { loginLinkCommand } from './login-link.ts'
import { storageCommand } from './storage.ts'
import { tracksCommands } from './tracks.ts'
import { uploadCommand } from './upload.ts'
import { videosCommands } from './videos.ts'
import { watermarksCommands } from './watermarks.ts'

const startCommand = command({
  name: 'start',
  summary: 'Run the service',
  operands: [],
  options: {},
  details: ['Settings are environment variables: docs/settings.md lists them.'],
  examples: ['kinora start', 'KINORA_PORT=9000 kinora start'],
  async run() {
    // Imported on demand: most commands finish faster than the service loads.
    await (await import('../main.ts')).serve()
  },
})

/** Every command. Help, option parsing, completion and docs/cli.md are derived from this list. */
export const commands: Command[] = [
  startCommand,
  healthCommand,
  doctorCommand,
  ...loginCommands,
  uploadCommand,
  ...videosCommands,
  ...importCommands,
  exportCommand,
  ...tracksCommands,
  ...watermarksCommands,
  ...liveCommands,
  ...eventsCommands,
  ...filesCommands,
  ...backupCommands,
  storageCommand,
  ...keysCommands,
  loginLinkCommand,
  completionCommand(() => commands),
]

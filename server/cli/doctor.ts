import { command } from './command.ts'

export const doctorCommand = command({
  name: 'doctor',
  summary: 'Check the settings and everything that the service depends on',
  operands: [],
  options: {},
  details: [
    'Checks settings, database, file store, ffmpeg, disk, ports, DNS, the public URL, certificate, clocks, memory and users, and says what to change. It uses the settings of the service and changes nothing. It works while the service runs and while it does not; only a running service is asked whether the public URL reaches it.',
    'The exit code is 1 if something is broken. Warnings do not change it.',
  ],
  examples: ['kinora doctor', 'kinora doctor --json'],
  json: '`{"isHealthy", "checks"}`: `"checks"` is an array of `{"name", "state", "message", "advice"}`, and `"state"` is `ok`, `warning` or `failed`',
  async run({ output }) {
    // Imported on demand: most commands finish faster than the modules of the service load.
    const { runDoctor } = await import('./run-doctor.ts')
    await runDoctor(output)
  },
})

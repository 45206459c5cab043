import { command } from './command.ts'

export const filesCommands = [
  command({
    name: 'files sweep',
    summary: 'Find orphaned and missing files',
    operands: [],
    options: { remove: { type: 'boolean', meaning: 'Delete the orphaned files' } },
    examples: ['kinora files sweep', 'kinora files sweep --remove'],
    json: 'one object for each finding: `{"kind", "key", "isRemoved"}` with `"files"` and `"bytes"` of an orphaned folder, or `{"kind": "missing", "videoId", "files", "keys"}`',
    async run({ options, output }) {
      // Imported on demand: most commands finish faster than the database module loads.
      const { sweepFiles } = await import('./sweep.ts')
      await sweepFiles(options.remove, output)
    },
  }),
]

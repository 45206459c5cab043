/** The values of all settings. Each slice adds its own in its `settings.ts`; `read-config.ts` reads them. */
// biome-ignore lint/suspicious/noEmptyInterface: slices extend it.
export interface Config {}

/** The tables of the database. Each slice adds the tables that it writes in its `tables.ts`. */
// biome-ignore lint/suspicious/noEmptyInterface: slices extend it.
export interface Tables {}

import { en } from './en.ts'

/** The texts of the chosen language. There is one so far. */
export const texts = en

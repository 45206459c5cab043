import { readFile } from 'node:fs/promises'

/** The image of everything that has no thumbnail. */
export const loadPlaceholder = () => readFile(new URL('no-thumbnail.jpg', import.meta.url))

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { titleOfFile } from './file-title.ts'

test('the title of a file has no extension of a video', () => {
  for (const [name, title] of [
    ['My film.mp4', 'My film'],
    ['CLIP.MOV', 'CLIP'],
    ['film.final.mkv', 'film.final'],
    ['Kinora 1.2', 'Kinora 1.2'],
    ['notes.txt', 'notes.txt'],
    ['.mp4', '.mp4'],
    ['mp4', 'mp4'],
    ['', ''],
  ] as const)
    assert.equal(titleOfFile(name), title)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMediaFile, readTrackName } from './file-names.ts'

test('video and audio files are recognized by their names', () => {
  for (const name of ['film.mp4', 'a/b.MOV', 'talk.mp3']) assert.ok(isMediaFile(name), name)
  for (const name of ['film.vtt', 'mp4', 'film.mp4.json', 'a.mp4/']) assert.ok(!isMediaFile(name), name)
})

test('captions and chapters of a file have its name and a language', () => {
  const read = (name: string) => readTrackName(name, 'a/film.mp4')
  assert.deepEqual(read('a/film.en.vtt'), { kind: 'captions', language: 'en' })
  assert.deepEqual(read('a/film.pt-br.srt'), { kind: 'captions', language: 'pt-BR' })
  assert.deepEqual(read('a/film.en.chapters.vtt'), { kind: 'chapters', language: 'en' })
  for (const name of ['a/film.vtt', 'a/film.xyzzy.vtt', 'film.en.vtt', 'a/other.en.vtt', 'a/film.en.txt'])
    assert.equal(read(name), undefined, name)
})

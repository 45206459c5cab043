import assert from 'node:assert/strict'
import { test } from 'node:test'
import { srtToWebVtt } from './srt.ts'

test('SRT becomes WebVTT', async () => {
  const srt =
    '1\r\n00:00:01,500 --> 00:00:02,000\r\nHello\r\nworld\r\n\r\n2\r\n01:00:00,000 --> 01:00:01,000\r\nBye\r\n'
  assert.equal(
    await srtToWebVtt(srt),
    'WEBVTT\n\n00:00:01.500 --> 00:00:02.000\nHello\nworld\n\n01:00:00.000 --> 01:00:01.000\nBye\n\n',
  )
})

const textOf = async (lines: string) => {
  const converted = await srtToWebVtt(`1\n00:00:01,000 --> 00:00:02,000\n${lines}\n`)
  const [, , timing = '', ...text] = converted!.split('\n')
  return [timing.slice(30), text.join('\n').trimEnd()]
}

test('formatting that WebVTT has is kept, and everything else is text', async () => {
  for (const [lines, settings, expected] of [
    ['<b>a</b> <I>b</I> <u>c</u>', '', '<b>a</b> <i>b</i> <u>c</u>'],
    ['<font color="#ff0000">red</font>', '', 'red'],
    ['{\\an8}top', 'line:0', 'top'],
    ['{\\pos(1,2)}there {sic}', '', 'there {sic}'],
    ['<script>alert(1)</script>', '', '&lt;script>alert(1)&lt;/script>'],
    ['Q & A &amp; R', '', 'Q &amp; A &amp; R'],
    ['a --> b', '', 'a --&gt; b'],
    ['with\n\nan empty line', '', 'with\nan empty line'],
  ] as const)
    assert.deepEqual(await textOf(lines), [settings, expected])
})

test('cue numbers are optional, and empty lines between cues may be missing', async () => {
  const timing = (second: number) => `00:00:0${second},000 --> 00:00:0${second + 1},000`
  const srt = `${timing(1)}\none\n2\n${timing(2)}\n42\n\n${timing(3)}  X1:10 X2:20\nthree`
  assert.equal(
    (await srtToWebVtt(srt))!.replaceAll(/00:00:|\.000/g, ''),
    'WEBVTT\n\n01 --> 02\none\n\n02 --> 03\n42\n\n03 --> 04\nthree\n\n',
  )
})

test('a file without cues is not SRT', async () => {
  for (const text of ['', '1\n2\n', 'a --> b', '<html></html>', '{"a":"-->"}', '00:00:01 --> 00:00:02\nx'])
    assert.equal(await srtToWebVtt(text), undefined, text)
})

test('large files of every shape are converted in linear time', async () => {
  const size = 1024 * 1024
  for (const pattern of ['x', '<', '<font ', '<B>', '{\\', '{', '&', '1\n', '\n', ' ', '0', '-->'])
    assert.ok(
      await srtToWebVtt(`00:00:01,000 --> 00:00:02,000\n${pattern.repeat(size / pattern.length)}`),
      pattern,
    )
})

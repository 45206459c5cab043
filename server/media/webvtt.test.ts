import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { srtToWebVtt } from './srt.ts'
import { formatTimestamp, isWebVtt, parseCues, withoutExternalContent } from './webvtt.ts'

const cue = (timing: string, text = 'x') => `${timing}\n${text}\n\n`
const parse = (...blocks: string[]) => parseCues(`WEBVTT\n\n${blocks.join('')}`)
const texts = async (...blocks: string[]) => (await parse(...blocks)).map(({ text }) => text)

test('a WebVTT file is recognized by its first word', () => {
  for (const text of ['WEBVTT', 'WEBVTT\n', 'WEBVTT - Title', 'WEBVTT\tx\r\n'])
    assert.ok(isWebVtt(text), text)
  for (const text of ['', 'webvtt\n', 'WEBVTTX', ' WEBVTT', '\nWEBVTT']) assert.ok(!isWebVtt(text), text)
})

test('cues have times, settings and text; identifiers, comments and styles are left out', async () => {
  const content = [
    'WEBVTT Title\r\nX-Anything: 1\r\n',
    'STYLE\r\n::cue { color: red }\r\n',
    'NOTE\r\na comment\r\n',
    'intro\r\n00:01.000 --> 00:02.500 align:start line:0 region:r1 onclick:x position:200\r\nOne\r\nTwo\r\n',
    '01:00:00.000 --> 01:00:01.000\r\n<v Ada>Hi</v> <00:00:01.000><c.loud>there</c>\r\n',
  ].join('\r\n')
  assert.deepEqual(await parseCues(content), [
    { startMs: 1_000, endMs: 2_500, settings: 'align:start line:0', text: 'One\nTwo' },
    {
      startMs: 3_600_000,
      endMs: 3_601_000,
      settings: '',
      text: '<v Ada>Hi</v> <00:00:01.000><c.loud>there</c>',
    },
  ])
})

test('a malformed cue does not hide the others', async () => {
  const found = await texts(
    cue('00:01.000 --> 00:02.000', 'first'),
    cue('00:01 --> 00:02', 'no milliseconds'),
    cue('later --> never', 'no times'),
    cue('00:05.000 --> 00:04.000', 'backwards'),
    cue('00:05.000 --> 00:05.000', 'no duration'),
    '00:06.000 --> 00:07.000\n\n',
    // Without an empty line between them.
    '00:08.000 --> 00:09.000\nsecond\n00:09.000 --> 00:10.000\nthird\n\n',
    // With the comma of SRT.
    cue('00:00:10,000 --> 00:00:11,000', 'fourth'),
    '00:12.000 --> 00:13.000\nlast',
  )
  assert.deepEqual(found, ['first', 'second', 'third', 'fourth', 'last'])
})

test('cues are sorted by their start, and overlapping cues are kept', async () => {
  const found = await texts(
    cue('00:05.000 --> 00:06.000', 'b'),
    cue('00:01.000 --> 00:09.000', 'a'),
    cue('00:05.000 --> 00:07.000', 'c'),
  )
  assert.deepEqual(found, ['a', 'b', 'c'])
})

test('tags that WebVTT does not define are left out, and what is no tag is text', async () => {
  const line = '00:01.000 --> 00:02.000'
  for (const [text, expected] of [
    ['<script>alert(1)</script>', 'alert(1)'],
    ['<img src=x onerror=alert(1)>x', 'x'],
    ['<font color="#ffff00">Hello</font>', 'Hello'],
    ['<I>x</I> <B>y</B> <U>z</U>', '<i>x</i> <b>y</b> <u>z</u>'],
    ['a<br>b<br />c<i/>', 'abc'],
    ['<c.>x</c>', 'x</c>'],
    [
      '<lang en><ruby>a<rt>b</rt></ruby></lang> <00:01.500><V Ada>c',
      '<lang en><ruby>a<rt>b</rt></ruby></lang> <00:01.500>c',
    ],
    ['<b>bold</b> <i', '<b>bold</b> &lt;i'],
    ['1 < 2 & 3 > 2', '1 &lt; 2 & 3 > 2'],
    ['I <3 <> you', 'I &lt;3 &lt;> you'],
    ['<v <b>x', '&lt;v <b>x'],
    // Nothing becomes a tag, an arrow or the end of a cue because something else is left out.
    ['<<b>script>', '&lt;<b>script>'],
    ['<<x>script src=y>', '&lt;script src=y>'],
    ['<scr<x>ipt>', '&lt;script>'],
    ['x --<x>> y', 'x --&gt; y'],
    ['<x>\nSTYLE\n<x></x>\ny', 'STYLE\ny'],
    ['a\n\u0007\nb --\u0007>', 'a\nb --&gt;'],
    ['a\u0007\u009bb', 'ab'],
  ] as const) {
    assert.deepEqual(await texts(cue(line, text)), [expected])
    if (/\p{Cc}/u.test(text.replaceAll('\n', ''))) continue
    const file = `WEBVTT\n\n${line}\n`
    assert.equal(await withoutExternalContent(file + text), file + expected)
  }
})

test('style sheets and markup that WebVTT does not define are removed from a file', async () => {
  const style =
    'STYLE\n::cue { background: url(https://track.example/x.png) }\n@import "https://track.example/x.css";\n'
  const cues =
    'STYLE \n00:01.000 --> 00:02.000 align:start\nSTYLE\nthe <i>text</i> <img src=//track.example/x>\n'
  const clean = '00:01.000 --> 00:02.000 align:start\nSTYLE\nthe <i>text</i> \n'
  for (const [file, expected] of [
    [`WEBVTT\n\n${style}\n${cues}`, `WEBVTT\n\n\n${clean}`],
    [`WEBVTT\n${style}\n${cues}`, `WEBVTT\n\n${clean}`],
    [`WEBVTT\n\nNOTE a\n\n${cues}\n${style}\n${cues}`, `WEBVTT\n\nNOTE a\n\n${clean}\n\n${clean}`],
    // A style that a cue ends.
    [`WEBVTT\n\n${style}${cues.slice(7)}`, `WEBVTT\n\n${clean}`],
  ] as const)
    for (const lineEnd of ['\n', '\r\n', '\r'])
      assert.equal(await withoutExternalContent(file.replaceAll('\n', lineEnd)), expected)
})

test('any other file is not changed', async () => {
  for (const file of [
    'WEBVTT\r\n\r\nREGION\r\nid:a\r\n\r\nintro\r\n00:01.000 --> 00:02.000\r\n<v Ada>Hi</v> 1 > 0\r\n',
    'WEBVTT\n\nSTYLED\n00:01.000 --> 00:02.000\n<c.red>STYLE of <b>text</b></c>',
    'WEBVTT',
  ])
    assert.equal(await withoutExternalContent(file), file)
})

test('large files of every shape are parsed in linear time', async () => {
  const size = 1024 * 1024
  const start = '00:01.000 --> 00:02.000'
  const fill = (pattern: string, bytes = size) => pattern.repeat(bytes / pattern.length)
  assert.equal((await texts(fill(`${start}\nx\n\n`))).length, Math.floor(size / 27))
  for (const line of ['x', '<', '<v ', '<c.a', '<x>', '<<x>', '&', ' ', '-', '0', '{\\'])
    assert.ok((await parse(cue(start, fill(line)))).length <= 1, line)
  for (const line of [' ', '0', ':', '-->', '00:01.000 --> ', '\n', '\r'])
    assert.deepEqual(await parse(fill(line)), [])
  assert.equal((await parse(`${start} ${fill('align:start ')}\nx`))[0]?.settings.length, 191)
})

test('the markup of a cue that is far too long is shown as text', async () => {
  for (const [length, expected] of [
    [9_000, '<b>'],
    [10_000, '&lt;b>'],
  ] as const) {
    const [text] = await texts(cue('00:01.000 --> 00:02.000', `<b>${'x'.repeat(length)}`))
    assert.equal(text, expected + 'x'.repeat(length))
    const converted = await srtToWebVtt(cue('00:00:01,000 --> 00:00:02,000', `<b>${'x'.repeat(length)}`))
    assert.ok(converted!.includes(`\n${expected}x`))
  }
})

test('other work goes on while a large file is parsed or converted', async () => {
  const large = cue('00:00:01.000 --> 00:00:02.000', '<i>').repeat(100_000)
  for (const read of [parseCues, srtToWebVtt, withoutExternalContent]) {
    let isDone = false
    const reading = read(large).then(() => {
      isDone = true
    })
    let turns = 0
    for (; !isDone; turns++) await turn()
    await reading
    assert.ok(turns >= 3, `${turns}`)
  }
})

test('timestamps have hours of any length', () => {
  assert.equal(formatTimestamp(0), '00:00:00.000')
  assert.equal(formatTimestamp(3_723_004), '01:02:03.004')
  assert.equal(formatTimestamp(100 * 3_600_000), '100:00:00.000')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { highlight } from './highlight.ts'

const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

test('colors change nothing but colors, and everything is escaped', () => {
  const code = `curl -u "$KINORA_KEY:" '<a & b>' # it's "quoted"\n<script>alert(1)</script> \`$X\``
  for (const language of [
    'sh',
    'js',
    'json',
    'html',
    'python',
    'go',
    'php',
    'nginx',
    'ini',
    'yaml',
    'unknown',
    '',
  ]) {
    const html = highlight(code, language)
    assert.equal(textOf(html), code, language)
    assert.doesNotMatch(html, /<script/, language)
  }
})

test('comments, strings and names have a class', () => {
  assert.equal(
    highlight('# list\ncurl "$URL"', 'sh'),
    '<span class="comment"># list</span>\n<span class="keyword">curl</span> <span class="string">&quot;$URL&quot;</span>',
  )
  assert.equal(
    highlight('{"a": 1}', 'json'),
    '{<span class="name">&quot;a&quot;</span>: <span class="number">1</span>}',
  )
})

test('the API key is an element of its own in every language', () => {
  const samples = {
    sh: ['curl -u "$KINORA_KEY:" x', '$KINORA_KEY'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample contains the template
    js: ['headers: `Bearer ${process.env.KINORA_KEY}`', 'process.env.KINORA_KEY'],
    python: ['os.environ["KINORA_KEY"]', 'os.environ["KINORA_KEY"]'],
    php: ["getenv('KINORA_KEY')", "getenv('KINORA_KEY')"],
    go: ['os.Getenv("KINORA_KEY")', 'os.Getenv("KINORA_KEY")'],
  }
  for (const [language, [code, key]] of Object.entries(samples)) {
    const [, marked = ''] = /<span class="key">(.*?)<\/span>/.exec(highlight(code!, language)) ?? []
    assert.equal(textOf(marked), key, language)
  }
})

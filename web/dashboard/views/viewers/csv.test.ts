import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toCsv } from './csv.ts'

test('cells with commas, quotes and line breaks are quoted', () => {
  assert.equal(toCsv([['a', 'b,c', 'd"e', 'f\ng', null, 1.5]]), 'a,"b,c","d""e","f\ng",,1.5\r\n')
})

test('texts that a spreadsheet would run as a formula are neutralized, numbers are not', () => {
  const rows = [['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', -1, 'a=b', ' =1']]
  assert.equal(toCsv(rows), `'=1+1,'+1,'-1,'@SUM(A1),'\t=1,"'\r=1","'\n=1",'＝1,-1,a=b, =1\r\n`)
  assert.equal(toCsv([['x;=1+1;y', 'a;b']]), `x;'=1+1;y,a;b\r\n`)
  assert.equal(toCsv([['=HYPERLINK("http://x","y")']]), `"'=HYPERLINK(""http://x"",""y"")"\r\n`)
})

import { expect, test } from 'vitest'
import { scanPage } from '../../../src/gateway/site/page-scan.ts'

test('inline scripts and styles are found, and files are not', () => {
  const { scripts, styles, hasBase, blocked } = scanPage(`<!doctype html>
<html><head>
<script type="module" crossorigin src="/assets/app.js"></script>
<SCRIPT data-a='>' nonce>let a = "</p>" < 2</SCRIPT >
<script type=importmap>{"imports":{}}</script><script></script>
<style media="a > b">p > a { color: red }</style>
</head><body><div id=root></div></body></html>`)
  expect(scripts).toEqual(['let a = "</p>" < 2', '{"imports":{}}'])
  expect(styles).toEqual(['p > a { color: red }'])
  expect([hasBase, blocked]).toEqual([false, []])
})

test('line breaks become line feeds, as in browsers', () => {
  expect(scanPage('<script>\r\na()\rb()</script>').scripts).toEqual(['\na()\nb()'])
})

test.each([
  ['a comment', '<!-- <script>a()</script> -->'],
  ['an empty comment, and one with a dash', '<!--><b>b</b><!--->'],
  ['a comment without an end', '<!-- <script>a()</script>'],
  ['a title', '<title><script>a()</script></title>'],
  ['a text area', '<textarea><script>a()</script></textarea>'],
  ['a page for browsers without scripts', '<noscript><style>a{}</style></noscript>'],
  ['an attribute', `<p title="<script>a()</script>" lang='<style>b</style>'>`],
  ['an unquoted attribute with a quote', `<p title=it's><script src=/a.js>a()</script>`],
  ['the first of two attributes', '<script src="/a.js" src>a()</script>'],
])('%s has no inline script or style', (_name, html) => {
  expect(scanPage(html)).toMatchObject({ scripts: [], styles: [] })
})

test('a script after text that looks like a tag is found', () => {
  expect(scanPage('<p>1 < 2 <3</p><script>a()</script>').scripts).toEqual(['a()'])
  expect(scanPage('<title>a</title ><script>a()</script>').scripts).toEqual(['a()'])
  expect(scanPage('<script>a()').scripts).toEqual(['a()'])
})

test('parts that the policy blocks are reported', () => {
  const { blocked, hasBase } = scanPage(
    `<base href="/"><button ONCLICK="a()" style='color: red'>b</button><a href=" javascript:a()" data-on="1">c</a>`,
  )
  expect(blocked).toEqual(['onclick of <button>', 'style of <button>', 'href of <a>'])
  expect(hasBase).toBe(true)
})

test('a page of one megabyte is scanned in linear time', () => {
  for (const part of ['<a ', '<!--', '<script>', '</script', '<a b="', '<a b=c '])
    expect(scanPage(part.repeat(1_000_000 / part.length))).toBeDefined()
})

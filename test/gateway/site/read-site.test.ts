import { hash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SitePolicy } from '../../../src/config/index.ts'
import { readSite } from '../../../src/gateway/site/read-site.ts'
import { siteOf } from '../../harness/site.ts'

const index = '<!doctype html><title>app</title>'

function read(directory: string, csp: SitePolicy = {}) {
  return readSite(directory, csp, ['wss://portal.example'], { onBlocked: () => undefined })
}

test('hidden files are not served, except below .well-known', () => {
  const files = read(
    siteOf({ 'index.html': index, '.env': 'SECRET=1', 'a/.git/config': '', '.well-known/assetlinks.json': '[]' }),
  )
  expect([...files.keys()].toSorted()).toEqual(['.well-known/assetlinks.json', 'index.html'])
})

test('links within the folder are served, as in a mounted ConfigMap', () => {
  const directory = siteOf({ '..data/index.html': index })
  symlinkSync('..data/index.html', join(directory, 'index.html'))
  expect(read(directory).get('index.html')?.identity.bytes.toString()).toBe(index)
})

test.each([
  ['to a file outside', '/etc/hostname'],
  ['to a folder', '.'],
  ['without a target', 'missing'],
])('a link %s is an error at start', (_name, target) => {
  const directory = siteOf({ 'index.html': index })
  symlinkSync(target, join(directory, 'link'))
  expect(() => read(directory)).toThrow(`${directory}/link is not a file of the directory; remove it`)
})

test('a sibling folder with the same prefix is outside', () => {
  const parent = siteOf({ 'site/index.html': index, 'site-private/secret': '1' })
  symlinkSync('../site-private/secret', join(parent, 'site/secret'))
  expect(() => read(join(parent, 'site'))).toThrow('is not a file of the directory')
})

test('a missing folder, a file and a folder without index.html are errors', () => {
  const directory = siteOf({ 'a.txt': '' })
  expect(() => read(join(directory, 'dist'))).toThrow('dist cannot be read as a folder (ENOENT); check its path')
  expect(() => read(join(directory, 'a.txt'))).toThrow('a.txt cannot be read as a folder (ENOTDIR)')
  expect(() => read(directory)).toThrow(`${directory} has no index.html; build the front end first`)
})

test('a folder above 128 MB is an error', () => {
  const directory = siteOf({ 'index.html': index })
  const block = new Uint8Array(65 * 1024 * 1024)
  for (const name of ['a.mp4', 'b.mp4']) writeFileSync(join(directory, name), block)
  expect(() => read(directory)).toThrow('has more than 128 MB; serve large files from elsewhere')
})

test('compressed siblings belong to their file; others are files', () => {
  const directory = siteOf({ 'index.html': index, 'a.js': 'a', 'a.js.br': 'b', 'a.js.gz': 'g', 'b.tar.gz': 'x' })
  mkdirSync(join(directory, 'empty'))
  const files = read(directory)
  expect([...files.keys()].toSorted()).toEqual(['a.js', 'b.tar.gz', 'index.html'])
  expect([...(files.get('a.js')?.encoded.keys() ?? [])]).toEqual(['br', 'gzip'])
})

test.each([
  'assets/index-DiwrgTda.js',
  'assets/index-B_x-1a2b.css',
  'assets/logo-D3kd9s2A.svg',
  'main.073c9b0a.js',
  'static/js/2.8f3a2b1c.chunk.js',
  'static/media/logo.6ce24c58023cc2f8fd88fe9d219db6c6.svg',
  '8f3a2b1c0d9e.js',
  'main.073c9b0a.js.map',
  'chunk-7GUXAJJC.js',
  'main-ABCDEFGH.js',
])('%s has a content hash and is cached for a year', (path) => {
  expect(read(siteOf({ 'index.html': index, [path]: '' })).get(path)?.isImmutable).toBe(true)
})

test.each([
  'assets/my-component.js',
  'assets/logo-original.js',
  'favicon-32x32.png',
  'photo-1024x768.jpg',
  'hero-Desktop1.png',
  'logo-LinkedIn.svg',
  'report-20240101.pdf',
  'apple-touch-icon.png',
  'manifest.webmanifest',
  'sw.js',
  'service-worker.js',
  'jquery-3.7.1.min.js',
  'page-DiwrgTda.html',
])('%s is revalidated', (path) => {
  expect(read(siteOf({ 'index.html': index, [path]: '' })).get(path)?.isImmutable).toBe(false)
})

test('the policy is strict, and allows inline scripts by their hashes only in their page', () => {
  const page = `${index}<script>start()</script><style>a{}</style><base href="/">`
  const files = read(siteOf({ 'index.html': page, 'worker.js': '' }), {
    script: ['https://cdn.example'],
    frame: ['https://3ds.example'],
    trustedTypes: true,
  })
  const digest = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`
  expect(files.get('index.html')?.policy.split('; ')).toEqual([
    "default-src 'none'",
    `script-src 'self' ${digest('start()')} https://cdn.example`,
    `style-src 'self' ${digest('a{}')}`,
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' blob:",
    "connect-src 'self' wss://portal.example",
    'frame-src https://3ds.example',
    "worker-src 'self'",
    "manifest-src 'self'",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ])
  expect(files.get('worker.js')?.policy).toContain("script-src 'self' https://cdn.example;")
  expect(read(siteOf({ 'index.html': index })).get('index.html')?.policy).toContain("frame-src 'none'")
})

import { expect, test } from 'vitest'
import { configurationFile } from './configuration-file.ts'

const { errorsOf, load } = configurationFile()
const directory = './dist'

function consumer(settings: object): string[] {
  return errorsOf({ portals: { CONSUMER: settings } })
}

test('a directory, a development server on this machine, and host names are accepted', () => {
  const csp = {
    script: ['https://js.example/v1/', "'sha256-abc='", "'wasm-unsafe-eval'"],
    connect: ['wss://live.example:8443', 'http://localhost:9000'],
    trustedTypes: true,
  }
  expect(consumer({ site: { directory, csp }, hosts: ['portal.example', 'localhost'] })).toEqual([])
  for (const url of ['http://127.0.0.1:5173', 'http://localhost:3000', 'https://[::1]:4200'])
    expect(consumer({ site: { url } })).toEqual([])
})

test.each([
  'http://10.0.0.5:5173',
  'http://127.0.0.1.evil.example',
  'http://127.0.0.1:5173/app',
  'http://user@127.0.0.1',
  'ftp://127.0.0.1',
])('site.url %s is refused', (url) => {
  expect(consumer({ site: { url } })).toContainEqual(expect.stringMatching(/^portals\.CONSUMER\.site\.url: /))
})

test.each([
  "'unsafe-inline'",
  "'unsafe-eval'",
  '*',
  'https://*.example',
  'https:',
  'data:',
  'http://cdn.example',
  "https://a.example; script-src 'self'",
  'https://a.example\nx',
  'https://a.example,b',
  "'self'",
  '',
])('csp source %j is refused', (source) => {
  for (const name of ['script', 'style', 'connect', 'image', 'font', 'frame'])
    expect(consumer({ site: { directory, csp: { [name]: [source] } } })).toEqual([
      expect.stringMatching(new RegExp(`^portals\\.CONSUMER\\.site\\.csp\\.${name}\\.0: an https or wss origin`)),
    ])
})

test('a site is a directory or a url', () => {
  for (const site of [{ directory, url: 'http://127.0.0.1' }, { url: 'http://127.0.0.1', csp: {} }, 'dist'])
    expect(consumer({ site })).toEqual([expect.stringMatching(/^portals\.CONSUMER\.site/)])
})

test.each(['Portal.example', 'portal.example:443', '127.0.0.1', 'https://portal.example', '*.example', ''])(
  'host %j is refused',
  (host) => {
    expect(consumer({ hosts: [host] })).toEqual([expect.stringMatching(/^portals\.CONSUMER\.hosts\.0: a host name/)])
  },
)

test('a host belongs to one portal, and two sites need host names', () => {
  const portals = (one: object, other: object) => errorsOf({ portals: { CONSUMER: one, SYSTEM: other } })
  expect(portals({ hosts: ['a.example'] }, { hosts: ['b.example', 'a.example'] })).toEqual([
    'portals.SYSTEM.hosts: a.example is also in portals.CONSUMER.hosts; remove one of them',
  ])
  expect(portals({ hosts: ['a.example', 'a.example'] }, {})).toEqual(['portals.CONSUMER.hosts: contains a name twice'])
  const site = { directory }
  const missing = (portal: string) => `portals.${portal}.hosts: must list a host name, because both portals have a site`
  expect(portals({ site }, { site })).toEqual([missing('CONSUMER'), missing('SYSTEM')])
  expect(portals({ site, hosts: ['a.example'] }, { site })).toEqual([missing('SYSTEM')])
  expect(portals({ site, hosts: ['a.example'] }, { site, hosts: ['b.example'] })).toEqual([])
})

test('an application needs an access code, and off serves none', () => {
  for (const app of [{ accessCode: 'consumer-dev' }, 'off', false]) expect(consumer({ app })).toEqual([])
  expect(load({ portals: { CONSUMER: { app: 'off' } } }).portals.CONSUMER.app).toBeNull()
  for (const app of [{ accessCode: '' }, { code: 'consumer-dev' }, 'on'])
    expect(consumer({ app })).toEqual([expect.stringMatching(/^portals\.CONSUMER\.app/)])
})

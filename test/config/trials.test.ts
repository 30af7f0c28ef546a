import { expect, test } from 'vitest'
import { backendServices, placeOf, trialOf } from '../../src/config/index.ts'
import { configurationFile } from './configuration-file.ts'

const { load, errorsOf } = configurationFile()
const [old, next] = ['http://10.0.0.5', 'http://10.0.0.6']
const id = '01990000-0000-7000-8000-000000000001'

function transfers(place: object) {
  return { backends: { transfers: place } }
}
function canary(settings: object) {
  return transfers({ url: old, canary: { url: next, audience: 'next', ...settings } })
}
function shadow(settings: object) {
  return transfers({ url: old, shadow: { url: next, audience: 'next', share: 0.1, ...settings } })
}
const fraction = 'a fraction from 0 to 1, such as 0.05 for 5 percent'

test.each<[object, string]>([
  [canary({ share: 5 }), `backends.transfers.canary.share: ${fraction}`],
  [canary({ share: '5%' }), `backends.transfers.canary.share: ${fraction}`],
  [canary({ maxErrorShare: -1 }), `backends.transfers.canary.maxErrorShare: ${fraction}`],
  [shadow({ share: 100 }), `backends.transfers.shadow.share: ${fraction}`],
  [shadow({ share: undefined }), `backends.transfers.shadow.share: ${fraction}`],
  [canary({ colour: 'red' }), 'backends.transfers.canary: Unrecognized key: "colour"; remove it or correct its name'],
  [
    shadow({ streamTimeoutMs: 9_000 }),
    'backends.transfers.shadow: Unrecognized key: "streamTimeoutMs"; remove it or correct its name',
  ],
  [
    shadow({ ignore: ['items[0].updatedAt'] }),
    'backends.transfers.shadow.ignore.0: a path of field names, such as items.updatedAt, without indexes of lists',
  ],
  [canary({ url: `${old}/` }), 'backends.transfers.canary.url: must differ from backends.transfers.url'],
  [shadow({ url: old, audience: undefined }), 'backends.transfers.shadow.url: must differ from backends.transfers.url'],
  [canary({ url: 'ftp://x' }), 'backends.transfers.canary.url: a URL that begins with http:// or https://'],
  [
    canary({ audience: undefined }),
    'backends.transfers.canary.audience: must differ from that of backends.transfers, which has another url',
  ],
  [canary({ tls: { caFile: 'ca.pem' } }), 'backends.transfers.canary.tls: needs a url that begins with https://'],
  [
    canary({ sticky: 'account', workspaces: [id] }),
    'backends.transfers.canary.workspaces: needs backends.transfers.canary.sticky: workspace',
  ],
  [
    transfers({ url: 'in-process', timeoutMs: 9_000, shadow: { url: next, share: 1 } }),
    'backends.transfers.timeoutMs: applies only to a service; remove it, or set url to a service',
  ],
  [
    transfers({ url: 'in-process' }),
    'backends.transfers: must be in-process, because it has neither shadow nor canary',
  ],
])('an invalid trial is refused: %j', (settings, error) => {
  expect(errorsOf(settings)).toEqual([error])
})

test('a trial of a domain in this process: the domain stays here, and the services are known', () => {
  const settings = load(
    transfers({
      url: 'in-process',
      shadow: { url: next, share: 0.5, ignore: ['items.updatedAt'] },
      canary: { url: next, share: 0.01, accounts: [id.toUpperCase()] },
    }),
  )
  expect(placeOf(settings, 'transfers')).toBe('in-process')
  expect(trialOf(settings, 'transfers')).toMatchObject({
    shadow: { url: next, share: 0.5, concurrency: 8, queue: 64, maxReplyBytes: 262_144 },
    canary: { url: next, share: 0.01, sticky: 'workspace', accounts: [id], maxErrorShare: 0.05 },
  })
  expect(backendServices(settings).map(({ path }) => path)).toEqual([
    'backends.transfers.shadow',
    'backends.transfers.canary',
  ])
  expect(trialOf(settings, 'wallets')).toEqual({ shadow: null, canary: null })
})

test('a trial of a service: the backend has the settings of the service only', () => {
  const place = placeOf(load(canary({})), 'transfers')
  expect(place).toMatchObject({ url: old })
  expect(place).not.toHaveProperty('canary')
})

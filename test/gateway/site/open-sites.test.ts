import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Secret } from '../../../src/config/index.ts'
import { openSites } from '../../../src/gateway/site/index.ts'
import { addMerchant } from '../../harness/merchant.ts'
import { testSettings } from '../../harness/settings.ts'
import { siteOf } from '../../harness/site.ts'

test('every site that cannot be read is reported with its setting', () => {
  const settings = testSettings({}, ({ portals }) => {
    portals.CONSUMER.site = { directory: '/nowhere' }
    portals.SYSTEM.site = { directory: siteOf({ 'a.txt': '' }) }
  })
  expect(() => openSites(settings, () => undefined)).toThrow(
    /portals\.CONSUMER\.site\.directory: \/nowhere cannot be read as a folder \(ENOENT\); check its path\n.*portals\.SYSTEM\.site\.directory: .* has no index\.html; build the front end first/,
  )
})

test('a site without host names has every host, and one with names only these', () => {
  const directory = siteOf({ 'index.html': '' })
  const portalOf = (hosts: string[], host?: string) => {
    const settings = testSettings({}, ({ portals }) => {
      portals.SYSTEM.site = { directory }
      portals.SYSTEM.hosts = hosts
    })
    return openSites(settings, () => undefined).find({ headers: { host } }, [])?.portal
  }
  for (const host of ['a.example', '127.0.0.1:8080', '[::1]:8080', undefined]) expect(portalOf([], host)).toBe('SYSTEM')
  expect([portalOf(['a.example'], 'A.example:80'), portalOf(['a.example'], 'b.example')]).toEqual(['SYSTEM', undefined])
  expect([portalOf(['a.example'], undefined), portalOf(['a.example'], '')]).toEqual([undefined, undefined])
})

const apps = {
  SYSTEM: { folder: 'console', accessCode: 'system-dev' },
  CONSUMER: { folder: 'portal', accessCode: 'consumer-dev' },
} as const

test.each(Object.entries(apps))(
  'the application of %s precedes its site, on the host names of the portal',
  (name, app) => {
    const { folder, accessCode } = app
    const settings = testSettings({}, ({ portals }) => {
      Object.assign(portals[name === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER'], { app: { accessCode }, hosts: ['a.example'] })
      portals[name === 'SYSTEM' ? 'CONSUMER' : 'SYSTEM'].site = { directory: siteOf({ 'index.html': '' }) }
    })
    const sites = openSites(settings, () => undefined)
    const find = (host: string, ...segments: string[]) => sites.find({ headers: { host } }, segments)
    expect(find('a.example', folder, 'wallets')).toMatchObject({ portal: name, folder })
    expect(find('a.example', 'other')).toMatchObject({ folder: null })
    expect(find('b.example', folder)).toMatchObject({ folder: null })
    expect(sites.isEmpty).toBe(false)
  },
)

test('an application without host names is not served under those of the other portal', () => {
  const settings = testSettings({}, ({ portals }) => {
    portals.CONSUMER.hosts = ['portal.example']
    portals.SYSTEM.app = { accessCode: 'system-dev' }
  })
  const sites = openSites(settings, () => undefined)
  const folderAt = (host: string) => sites.find({ headers: { host } }, ['console'])?.folder
  expect(['portal.example', 'Portal.example:443', 'console.example'].map(folderAt)).toEqual([
    undefined,
    undefined,
    'console',
  ])
})

test('the page of an application contains its access code, and scripts only as files', () => {
  const settings = testSettings({}, ({ portals }) => {
    portals.SYSTEM.accessCodes = [hash('sha256', 'a "quoted" <code> & $& more')]
    portals.SYSTEM.app = { accessCode: 'a "quoted" <code> & $& more' }
  })
  const content = openSites(settings, () => expect.fail()).find({ headers: {} }, ['console'])?.content
  const page = content && 'files' in content ? content.files.get('index.html') : undefined
  const html = page?.identity.bytes.toString() ?? ''
  expect(html).toContain('a \\&quot;quoted\\&quot; &lt;code> &amp; $&amp; more')
  expect(html).not.toContain('%')
  expect(page?.policy).toContain("script-src 'self';")
  expect(page?.policy).toContain("require-trusted-types-for 'script'")
})

test('only the console can show a document in a frame, from its own memory', () => {
  const settings = testSettings({}, ({ portals }) => {
    portals.CONSUMER.app = { accessCode: 'consumer-dev' }
    portals.SYSTEM.app = { accessCode: 'system-dev' }
  })
  const sites = openSites(settings, () => expect.fail())
  const policyOf = (folder: string) => {
    const content = sites.find({ headers: {} }, [folder])?.content
    return content && 'files' in content ? content.files.get('index.html')?.policy : undefined
  }
  expect(policyOf('console')).toContain('frame-src blob:;')
  expect(policyOf('portal')).toContain("frame-src 'none';")
})

test('an application that is not served leaves its paths to the site', () => {
  const settings = testSettings({}, ({ portals }) => {
    portals.CONSUMER.app = null
    portals.SYSTEM.app = { accessCode: 'no code of the portal' }
  })
  const sites = openSites(settings, () => undefined)
  expect(['portal', 'console'].map((folder) => sites.find({ headers: {} }, [folder]))).toEqual([undefined, undefined])
  expect(sites.isEmpty).toBe(true)
})

test.each([
  [null, null, null],
  [null, 'the-site-key', null],
  ['the secret', 'the-site-key', 'the-site-key'],
])('with secret %j and site key %j, the pages of both applications have the key %j', (secret, siteKey, expected) => {
  const settings = testSettings({}, ({ portals, turnstile }) => {
    for (const { folder, accessCode } of Object.values(apps))
      portals[folder === 'portal' ? 'CONSUMER' : 'SYSTEM'].app = { accessCode }
    Object.assign(turnstile, { secret: secret && new Secret(secret), siteKey })
  })
  const sites = openSites(settings, () => expect.fail())
  for (const { folder } of Object.values(apps)) {
    const content = sites.find({ headers: {} }, [folder])?.content
    const page = content && 'files' in content ? content.files.get('index.html') : undefined
    expect(page?.identity.bytes.toString()).toContain(
      `&quot;captchaKey&quot;:${expected ? `&quot;${expected}&quot;` : 'null'}`,
    )
    expect(page?.identity.bytes.toString()).not.toContain('the secret')
    const policies = new Set(page?.policy.split('; '))
    const origin = 'https://challenges.cloudflare.com'
    // The console shows proofs of payment in a frame.
    const [frames, noFrames] = folder === 'console' ? ['blob: ', 'blob:'] : ['', "'none'"]
    const captcha = [`script-src 'self' ${origin}`, `frame-src ${frames}${origin}`, 'trusted-types default']
    const none = ["script-src 'self'", `frame-src ${noFrames}`, "trusted-types 'none'"]
    for (const directive of expected ? captcha : none) expect(policies).toContain(directive)
    expect(page?.policy.includes('cloudflare')).toBe(expected !== null)
  }
})

test('the page of the console names all portals, and that of the consumer portal none', () => {
  const settings = testSettings({}, (draft) => {
    for (const { folder, accessCode } of Object.values(apps))
      draft.portals[folder === 'portal' ? 'CONSUMER' : 'SYSTEM'].app = { accessCode }
    addMerchant(draft)
  })
  const sites = openSites(settings, () => expect.fail())
  const pageOf = (folder: string): string => {
    const content = sites.find({ headers: {} }, [folder])?.content
    const page = content && 'files' in content ? content.files.get('index.html') : undefined
    return page?.identity.bytes.toString().replaceAll('&quot;', '"') ?? ''
  }
  expect(pageOf('portal')).toContain('"portals":[]')
  expect(pageOf('console')).toContain(
    '"portals":[{"name":"CONSUMER","label":null},{"name":"SYSTEM","label":null},{"name":"MERCHANT","label":"Merchant portal"}]',
  )
})

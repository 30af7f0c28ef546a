import { expect, test } from 'vitest'
import { openSites } from '../../../src/gateway/site/index.ts'
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

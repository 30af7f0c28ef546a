import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load as parseYaml } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { configurationFile } from '../config/configuration-file.ts'
import { needs } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx } from '../harness/nginx.ts'
import { startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { root } from '../harness/settings.ts'
import { buildSite, load } from '../harness/site.ts'

const guide = readFileSync(join(root, 'docs/guides/serve-your-front-end.md'), 'utf8')
const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text)

const { errorsOf } = configurationFile()

test('every configuration of the guide is valid', () => {
  const configurations = blocks('yaml')
  expect(configurations).toHaveLength(4)
  for (const yaml of configurations) {
    expect(parseYaml(yaml)).toHaveProperty('portals')
    expect(errorsOf(yaml)).toEqual([])
  }
})

describe('nginx in front', needs(nginxIsInstalled(), 'nginx is not installed'), () => {
  test('the configuration of the guide serves the files, and the gateway the operations', async () => {
    const page = '<!doctype html><title>app</title>'
    const site = buildSite({ 'index.html': page, 'assets/app-DiwrgTda.js': 'app()' })
    const portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.edge = { kind: 'direct', trustedProxies: ['127.0.0.0/8'] }
      },
    })
    const port = await freePort()
    const [server = ''] = blocks('nginx')
    const nginx = await startNginx(
      {},
      server
        .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
        .replaceAll(/^ *ssl_certificate.*\n/gm, '')
        .replace('/srv/portal/dist', site.directory)
        .replace('http://10.0.0.11:8080', new URL(portico.urls[0] ?? '').origin)
        .replace('$scheme', 'https'),
    )
    try {
      const get = (path: string, headers = {}) =>
        load(`http://127.0.0.1:${port}`, path, { host: 'portal.example.com', ...headers })
      for (const path of ['/', '/wallets/5']) {
        const { status, headers, text } = await get(path)
        expect([status, text, headers['cache-control']]).toEqual([200, page, 'no-cache'])
        expect(headers['content-security-policy']).toContain("script-src 'self';")
      }
      const file = await get('/assets/app-DiwrgTda.js')
      expect([file.text, file.headers['cache-control']]).toEqual(['app()', 'public, max-age=31536000, immutable'])
      expect((await get('/assets/missing.js')).status).toBe(404)
      const { status, text } = await get('/web/v1/consumer/auth/login-policy/none')
      expect([status, JSON.parse(text).code]).toEqual([404, 'ROUTE.NOT_FOUND'])
      const session = await get('/web/v1/consumer/auth/browser-session', {
        'x-portal-access-code': 'consumer-dev',
        'x-client-hash': 'a',
        'x-request-id': 'a',
        'x-locale': 'en',
        'sec-fetch-site': 'same-origin',
      })
      expect([session.status, JSON.parse(session.text).data]).toEqual([200, { signedIn: false }])
    } finally {
      await nginx.stop()
      await portico.stop()
      site.remove()
    }
  })
})

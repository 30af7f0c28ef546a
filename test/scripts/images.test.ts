import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { currentDigest, imagesIn, parseImage } from '../../scripts/images.ts'

const manifest = '{"schemaVersion":2}'
const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`

/** A registry that demands a token for the repository before it returns a manifest. */
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '', 'http://registry')
  const base = `http://${request.headers.host}`
  if (url.pathname === '/token')
    return response.end(
      JSON.stringify({ token: `${url.searchParams.get('scope')} of ${url.searchParams.get('service')}` }),
    )
  if (request.headers.authorization !== 'Bearer repository:library/node:pull of test')
    return response
      .writeHead(401, {
        'www-authenticate': `Bearer realm="${base}/token",service="test",scope="repository:library/node:pull"`,
      })
      .end()
  if (url.pathname !== '/v2/library/node/manifests/26') return response.writeHead(404).end()
  expect(request.headers.accept).toContain('application/vnd.oci.image.index.v1+json')
  return response.end(manifest)
})
let registry: string
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

test('the current digest is computed from the manifest that the tag names', async () => {
  expect(await currentDigest(registry, 'library/node', '26')).toBe(digest)
})

test('an unknown tag and a registry that does not answer are errors', async () => {
  await expect(currentDigest(registry, 'library/node', '27')).rejects.toThrow('404')
  await expect(currentDigest('http://127.0.0.1:1', 'library/node', '26')).rejects.toThrow()
})

test('the images of Dockerfiles, compose files and manifests are found, except own ones', () => {
  const text = `ARG BASE=docker.io/library/node:26@${digest}
FROM \${BASE} AS build
FROM docker.io/library/debian:12
    image: docker.io/library/redis:7
        - image: registry.example.com/portico:0.1.0
`
  const images = imagesIn(text)
  expect(images).toEqual([
    `docker.io/library/node:26@${digest}`,
    'docker.io/library/debian:12',
    'docker.io/library/redis:7',
  ])
  expect(parseImage(images[0] ?? '')).toEqual({
    ...{ registry: 'docker.io', repository: 'library/node', tag: '26', digest },
  })
  expect(() => parseImage(images[1] ?? '')).toThrow('docker.io/library/debian:12 has no digest')
})

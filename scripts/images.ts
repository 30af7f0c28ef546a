/*
 * Checks that each pinned image is the one that its tag names in its registry: `node scripts/images.ts`. A registry that
 * does not answer fails it. `node scripts/images.ts pin` writes the current digests to the files.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { argv, stderr, stdout } from 'node:process'
import { z } from 'zod'

const files = ['Dockerfile', 'compose.yaml', ...globSync('deploy/**/*.yaml')]
const pinned = /^(?<registry>[^/]+)\/(?<repository>[^:@]+):(?<tag>[^@]+)@(?<digest>sha256:[0-9a-f]{64})$/

/** Returns the images of other projects that a Dockerfile, a compose file or a Kubernetes manifest names. */
export function imagesIn(text: string): string[] {
  return [...text.matchAll(/^(?:FROM |ARG \w+=| *(?:- )?image: )(\S+)/gm)]
    .flatMap(([, image = '']) => image)
    .filter((image) => !image.startsWith('$') && !image.startsWith('registry.example.com/portico:'))
}

/** Returns the parts of a pinned image. Throws if it has no digest. */
export function parseImage(image: string): { registry: string; repository: string; tag: string; digest: string } {
  const { registry = '', repository = '', tag = '', digest = '' } = pinned.exec(image)?.groups ?? {}
  if (digest === '') throw new Error(`${image} has no digest`)
  return { registry, repository, tag, digest }
}

const accept = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ')

/** Returns the digest of a tag's manifest for all platforms, computed from its bytes. */
export async function currentDigest(registry: string, repository: string, tag: string): Promise<string> {
  const url = new URL(`/v2/${repository}/manifests/${tag}`, registry)
  let response = await read(url, { accept })
  if (response.status === 401) {
    const token = await authorize(response.headers.get('www-authenticate') ?? '')
    response = await read(url, { accept, authorization: `Bearer ${token}` })
  }
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`)
  const manifest = Buffer.from(await response.arrayBuffer())
  return `sha256:${createHash('sha256').update(manifest).digest('hex')}`
}

if (import.meta.main)
  try {
    if ((await main(argv[2] === 'pin')) > 0) process.exitCode = 1
  } catch (error) {
    stderr.write(`check:images: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }

async function read(url: URL, headers: Record<string, string>): Promise<Response> {
  try {
    return await fetch(url, { headers, signal: AbortSignal.timeout(30_000) })
  } catch (cause) {
    throw new Error(`no response from ${url.origin}`, { cause })
  }
}

/** Gets a token as the challenge of a registry demands (the distribution specification, token authentication). */
async function authorize(challenge: string): Promise<string> {
  const part = (name: string): string => new RegExp(`${name}="([^"]+)"`).exec(challenge)?.[1] ?? ''
  const url = new URL(part('realm'))
  url.search = new URLSearchParams({ service: part('service'), scope: part('scope') }).toString()
  const response = await read(url, {})
  return z.object({ token: z.string() }).parse(await response.json()).token
}

async function main(pin: boolean): Promise<number> {
  let outdated = 0
  for (const file of files)
    for (const image of imagesIn(readFileSync(file, 'utf8'))) {
      const { registry, repository, tag, digest } = parseImage(image)
      // The API of docker.io has a different host name.
      const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry
      const current = await currentDigest(`https://${host}`, repository, tag)
      if (current === digest) continue
      outdated += 1
      stdout.write(`${file}: ${repository}:${tag} is ${current} now\n`)
      if (pin) writeFileSync(file, readFileSync(file, 'utf8').replaceAll(digest, current))
    }
  return pin ? 0 : outdated
}

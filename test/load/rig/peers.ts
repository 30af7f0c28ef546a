import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { freePort } from '../../harness/postgres.ts'
import { peerAccount } from '../peers/account.ts'
import { haproxyConfiguration } from '../peers/haproxy.ts'
import { nginxConfiguration } from '../peers/nginx.ts'
import { onPath, type Place, type Started, start } from './processes.ts'
import type { Rig } from './workspace.ts'

const files = {
  'express-composed': import.meta.resolve('../peers/express-composed.ts'),
  'express-tuned': import.meta.resolve('../peers/express-tuned.ts'),
  'express-bare': import.meta.resolve('../peers/express-bare.ts'),
  'fastify-bare': import.meta.resolve('../peers/fastify-bare.ts'),
  'undici-bare': import.meta.resolve('../peers/undici-bare.ts'),
  'express-json': import.meta.resolve('../peers/express-json.ts'),
  'kysely-transfers': import.meta.resolve('../peers/kysely-transfers.ts'),
  argon2id: import.meta.resolve('../peers/argon2id.ts'),
  upstream: import.meta.resolve('../peers/upstream.ts'),
}
export type Peer = keyof typeof files

export async function startPeer(rig: Rig, name: Peer, env: Record<string, string>, place: Place): Promise<Started> {
  const port = await freePort()
  return rig.stopAtEnd(
    await start({
      name,
      place,
      command: process.execPath,
      args: [fileURLToPath(files[name])],
      port,
      env: { NODE_ENV: 'production', ...env },
      log: rig.file(`${name}.log`),
    }),
  )
}

export async function startNginx(rig: Rig, upstream: string, workers: number, place: Place): Promise<Started> {
  const port = await freePort()
  const own = rig.file('nginx')
  mkdirSync(own)
  writeFileSync(join(own, 'nginx.conf'), nginxConfiguration(port, upstream, own, workers))
  const args = ['-p', own, '-c', join(own, 'nginx.conf'), '-e', join(own, 'nginx-error.log')]
  return rig.stopAtEnd(await start({ name: 'nginx', place, command: 'nginx', args, port, log: rig.file('nginx.log') }))
}

/** Debian's package contains ES256 verification (HAProxy 2.5 or newer). */
export async function startHaproxy(
  rig: Rig,
  upstream: string,
  pem: string,
  threads: number,
  place: Place,
): Promise<Started> {
  const port = await freePort()
  const [configuration, key] = [rig.file('haproxy.cfg'), rig.file('haproxy.pem')]
  writeFileSync(key, pem)
  writeFileSync(configuration, haproxyConfiguration(port, upstream, key, threads))
  return rig.stopAtEnd(
    await start({
      name: 'haproxy',
      place,
      command: 'haproxy',
      args: ['-db', '-f', configuration],
      port,
      log: rig.file('haproxy.log'),
    }),
  )
}

/** The keys of the proxies that verify tokens, and a token. */
export async function peerKeys() {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const token = await new SignJWT({ sid: '01990000-0000-7000-8000-0000000000bb' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .setIssuer('peer')
    .setAudience('peer')
    .setSubject(peerAccount)
    .setIssuedAt()
    .setExpirationTime('2h')
    .sign(privateKey)
  return {
    token,
    pem: await exportSPKI(publicKey),
    env: {
      PEER_JWK: JSON.stringify(await exportJWK(publicKey)),
      PEER_PRIVATE_JWK: JSON.stringify(await exportJWK(privateKey)),
    },
  }
}

/** One upstream serves all proxies. `token` is for the proxies that verify tokens. */
export async function startProxies(rig: Rig, upstream: string): Promise<{ peers: Started[]; token: string }> {
  const { token, pem, env } = await peerKeys()
  const names = ['express-composed', 'express-tuned', 'express-bare', 'fastify-bare', 'undici-bare'] as const
  const peers = await Promise.all(names.map((name) => startPeer(rig, name, { UPSTREAM: upstream, ...env }, 'measured')))
  if (onPath('haproxy')) peers.push(await startHaproxy(rig, upstream, pem, 1, 'measured'))
  if (onPath('nginx')) peers.push(await startNginx(rig, upstream, 1, 'measured'))
  return { peers, token }
}

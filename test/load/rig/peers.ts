import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { freePort } from '../../harness/postgres.ts'
import { nginxConfiguration } from '../peers/nginx.ts'
import { onPath, type Place, type Started, start } from './processes.ts'
import type { Rig } from './workspace.ts'

const files = {
  'express-composed': import.meta.resolve('../peers/express-composed.ts'),
  'express-bare': import.meta.resolve('../peers/express-bare.ts'),
  'fastify-bare': import.meta.resolve('../peers/fastify-bare.ts'),
  'undici-bare': import.meta.resolve('../peers/undici-bare.ts'),
  'express-json': import.meta.resolve('../peers/express-json.ts'),
  'kysely-transfers': import.meta.resolve('../peers/kysely-transfers.ts'),
  argon2id: import.meta.resolve('../peers/argon2id.ts'),
  upstream: import.meta.resolve('../peers/upstream.ts'),
}
export type Peer = keyof typeof files

/** Starts a peer or the shared upstream in a separate process. */
export const startPeer = async (rig: Rig, name: Peer, env: Record<string, string>, place: Place): Promise<Started> => {
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

const startNginx = async (rig: Rig, upstream: string): Promise<Started> => {
  const port = await freePort()
  const own = rig.file('nginx')
  mkdirSync(own)
  writeFileSync(join(own, 'nginx.conf'), nginxConfiguration(port, upstream, own))
  const args = ['-p', own, '-c', join(own, 'nginx.conf'), '-e', join(own, 'nginx-error.log')]
  return rig.stopAtEnd(
    await start({ name: 'nginx', place: 'measured', command: 'nginx', args, port, log: rig.file('nginx.log') }),
  )
}

/** Creates a key pair and a valid token for the proxy that verifies tokens. */
const peerToken = async () => {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true })
  const token = await new SignJWT({ sid: '01990000-0000-7000-8000-0000000000bb' })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt' })
    .setIssuer('peer')
    .setAudience('peer')
    .setSubject('01990000-0000-7000-8000-0000000000cc')
    .setIssuedAt()
    .setExpirationTime('2h')
    .sign(privateKey)
  return { token, jwk: JSON.stringify(await exportJWK(publicKey)) }
}

/** Starts all proxies in front of one upstream. Returns them and the token for the proxy that verifies tokens. */
export const startProxies = async (rig: Rig, upstream: string): Promise<{ peers: Started[]; token: string }> => {
  const { token, jwk } = await peerToken()
  const env = { UPSTREAM: upstream, PEER_JWK: jwk }
  const names = ['express-composed', 'express-bare', 'fastify-bare', 'undici-bare'] as const
  const peers = await Promise.all(names.map((name) => startPeer(rig, name, env, 'measured')))
  return { peers: onPath('nginx') ? [...peers, await startNginx(rig, upstream)] : peers, token }
}

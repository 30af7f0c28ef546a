import { createCipheriv, createPublicKey, randomBytes } from 'node:crypto'
import { CompactEncrypt } from 'jose'
import type { Gateway } from '../rig/gateway.ts'
import { chain } from './people.ts'

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}

async function dataOf<T>(response: Response): Promise<T> {
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text}`)
  const { data }: { data: T } = JSON.parse(text)
  return data
}

/** `seal` encrypts each body with the next sequence number. */
export async function openChannel(gateway: Gateway, headers: Record<string, string>) {
  const folder = `${gateway.url}${chain}/secure-channel`
  const { keyId, publicKey } = await dataOf<{ keyId: string; publicKey: string }>(
    await fetch(`${folder}/public-key`, { headers }),
  )
  const key = randomBytes(32)
  const proposal = {
    key: key.toString('base64url'),
    clientHash: headers['x-client-hash'],
    iat: Math.floor(Date.now() / 1000),
  }
  const spki = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' })
  const payload = await new CompactEncrypt(Buffer.from(JSON.stringify(proposal)))
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: keyId })
    .encrypt(spki)
  const { sessionId } = await dataOf<{ sessionId: string }>(
    await fetch(`${folder}/session`, { method: 'POST', headers, body: JSON.stringify({ payload }) }),
  )
  let seq = 0
  return {
    sessionId,
    seal: (htm: string, htu: string, text: string): string => {
      seq += 1
      const head = base64url(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid: sessionId, seq, htm, htu }))
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(head))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      const parts = [iv, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))
      return JSON.stringify({ payload: `${head}..${parts.join('.')}` })
    },
  }
}

import type { Passkey } from '../../../src/identity/webauthn/store.ts'
import { bizId, toInstant } from '../../../src/kernel/index.ts'

const at = toInstant(Date.parse('2026-01-01T00:00:00Z'))

/** A passkey as the store has it. */
export function storedPasskey(facts: Pick<Passkey, 'credentialId' | 'publicKey'> & Partial<Passkey>): Passkey {
  return {
    id: '01933b6e-7c1a-7e0a-8f35-0000000000aa',
    portal: 'CONSUMER',
    accountId: bizId('01933b6e-7c1a-7e0a-8f35-00000000000a'),
    signCount: 0,
    transports: [],
    aaguid: '00000000-0000-0000-0000-000000000000',
    deviceType: 'SINGLE_DEVICE',
    backedUp: false,
    name: 'Key',
    createdAt: at,
    lastUsedAt: null,
    suspendedAt: null,
    isEnrolled: false,
    ...facts,
  }
}

import { execFileSync } from 'node:child_process'
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPasskeyOptions } from '../../../src/identity/passkeys/contract.ts'
import { addMs } from '../../../src/kernel/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import type { Ceremony } from '../../harness/authenticator.ts'
import { SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { refusalOf } from '../harness.ts'
import { origin, type PasskeyWorld, passkeyWorld } from './world.ts'

const aaguid = '2fc0579f-8113-47ea-b116-bb5a8db9202a'
const folder = mkdtempSync(join(tmpdir(), 'portico-attestation-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Authority {
  name: string
  pem: string
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
}

function authority(name: string): Authority {
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${name}.key`)
  openssl(
    ...['req', '-new', '-x509', '-key', `${name}.key`, '-out', `${name}.pem`, '-days', '3650'],
    ...['-subj', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE'],
  )
  return { name, pem: readFileSync(join(folder, `${name}.pem`), 'utf8') }
}

/** The certificate of an attestation key (WebAuthn level 3, 8.2.1). */
function attestation({ name }: Authority, serial: string): Pick<Ceremony, 'attestationKey' | 'certificates'> {
  const leaf = `${name}-${serial}`
  const subject = '/C=DE/O=Maker/OU=Authenticator Attestation/CN=Batch'
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${leaf}.key`)
  openssl('req', '-new', '-key', `${leaf}.key`, '-out', `${leaf}.csr`, '-subj', subject)
  writeFileSync(join(folder, 'leaf.ext'), 'basicConstraints=critical,CA:FALSE\n')
  openssl(
    ...['x509', '-req', '-in', `${leaf}.csr`, '-CA', `${name}.pem`, '-CAkey', `${name}.key`, '-set_serial', serial],
    ...['-days', '3650', '-extfile', 'leaf.ext', '-out', `${leaf}.pem`],
  )
  const attestationKey: KeyObject = createPrivateKey(readFileSync(join(folder, `${leaf}.key`)))
  const certificate = new X509Certificate(readFileSync(join(folder, `${leaf}.pem`)))
  return { attestationKey, certificates: [Uint8Array.from(certificate.raw)] }
}

describe('portals.<portal>.passkeys.attestation with an allow list', () => {
  let world: PasskeyWorld
  let trusted: Authority
  beforeAll(async () => {
    trusted = authority('maker')
    world = await passkeyWorld(({ portals }) => {
      const passkeys = portals.CONSUMER.passkeys
      if (passkeys) passkeys.attestation = { allowList: [aaguid], roots: [trusted.pem] }
    })
    // The certificates of the test are valid from now.
    world.at.clock.set(addMs(systemClock.now(), 60_000))
  })
  afterAll(() => world.at.close())

  const register = async (how: Ceremony, model = aaguid) => {
    const person = await world.person()
    person.device = new SoftwareAuthenticator(origin, { aaguid: model })
    return world.register(person, how)
  }
  const internalOf = async (how: Ceremony, model?: string) => {
    const { code, detail } = await refusalOf(register(how, model))
    return [code, detail.internal]
  }
  const invalid = (internal: string) => ['AUTH.PASSKEY_INVALID', expect.stringContaining(internal)]

  test('passkeys.options 200: asks for an attestation', async () => {
    expect(await world.run(createPasskeyOptions, {}, await world.person())).toMatchObject({ attestation: 'direct' })
  })

  test('passkeys.register 200: a listed model whose certificate leads to the root', async () => {
    expect(await register({ format: 'packed', ...attestation(trusted, '1') })).toMatchObject({ aaguid })
  })

  test('passkeys.register 401: no attestation, or one without certificates', async () => {
    expect(await internalOf({ format: 'none' })).toEqual(invalid('no packed attestation'))
    expect(await internalOf({ format: 'packed-self' })).toEqual(invalid('no packed attestation'))
  })

  test('passkeys.register 401: another model', async () => {
    const how = { format: 'packed', ...attestation(trusted, '2') } as const
    expect(await internalOf(how, '0'.repeat(32))).toEqual(invalid('not in the allow list'))
  })

  test('passkeys.register 401: a certificate of somebody else, even with the same name', async () => {
    const forged = attestation(authority('forger'), '3')
    expect(await internalOf({ format: 'packed', ...forged })).toEqual(invalid('no trusted root'))
    const root = Uint8Array.from(new X509Certificate(trusted.pem).raw)
    const padded = { ...forged, certificates: [...(forged.certificates ?? []), root] }
    expect(await internalOf({ format: 'packed', ...padded })).toEqual(invalid('no trusted root'))
  })

  test('passkeys.register 401: a true certificate without its key', async () => {
    const { certificates = [] } = attestation(trusted, '4')
    expect(await internalOf({ format: 'packed', certificates })).toEqual(invalid('attestation is not valid'))
  })

  test('passkeys.register 401: an expired certificate', async () => {
    const how = { format: 'packed', ...attestation(trusted, '5') } as const
    const before = world.at.clock.now()
    world.at.clock.advance(11 * 365 * 86_400_000)
    expect(await internalOf(how)).toEqual(invalid('no trusted root'))
    world.at.clock.set(before)
  })
})

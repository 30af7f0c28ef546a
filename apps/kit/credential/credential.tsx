import type { CreateApiKeyRequest } from 'portal-client'
import { SelectField, TextAreaField, TextField, type Values } from '../forms.tsx'
import { t } from '../i18n.ts'

export type CredentialKind = 'SECRET' | 'JWT' | 'TLS'
type Credential = Pick<CreateApiKeyRequest, 'publicKey' | 'certificateThumbprint'>
type PublicKey = NonNullable<CreateApiKeyRequest['publicKey']>

const kinds = ['SECRET', 'JWT', 'TLS'] as const

interface Props {
  kind: CredentialKind
  onChange(kind: CredentialKind): void
}

/** How callers with the key prove that they have it. */
export function CredentialFields({ kind, onChange }: Props) {
  return (
    <>
      <SelectField
        label={t('credential.label')}
        name="credential"
        hint={t(`credential.hint_${kind}`)}
        defaultValue={kind}
        options={kinds.map((each) => ({ value: each, label: t(`credential.kind_${each}`) }))}
        onChange={(value) => onChange(kinds.find((each) => each === value) ?? 'SECRET')}
      />
      {kind === 'JWT' && (
        <TextAreaField
          label={t('credential.publicKey')}
          name="publicKey"
          hint={t('credential.publicKeyHint')}
          required
        />
      )}
      {kind === 'TLS' && (
        <TextField
          label={t('credential.thumbprint')}
          name="certificateThumbprint"
          hint={t('credential.thumbprintHint')}
          autoComplete="off"
          required
        />
      )}
    </>
  )
}

/** The members of the request, or the key of a text with the problem. */
export function readCredential(kind: CredentialKind, values: Values): Credential | { problem: string } {
  if (kind === 'SECRET') return {}
  if (kind === 'TLS') return { certificateThumbprint: values('certificateThumbprint') }
  const key = parse(values('publicKey'))
  if (key === null) return { problem: 'credential.notJwk' }
  if ('d' in key) return { problem: 'credential.privateKey' }
  const publicKey = publicKeyOf(key)
  return publicKey ? { publicKey } : { problem: 'credential.notJwk' }
}

function parse(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/** The gateway checks the values. */
function publicKeyOf(key: object): PublicKey | null {
  const members = new Map<string, unknown>(Object.entries(key))
  const text = (name: string): string | undefined => {
    const value = members.get(name)
    return typeof value === 'string' ? value : undefined
  }
  const kty = keyTypes.find((each) => each === text('kty'))
  if (!kty) return null
  return {
    kty,
    crv: curves.find((each) => each === text('crv')),
    x: text('x'),
    y: text('y'),
    n: text('n'),
    e: text('e'),
    alg: algorithms.find((each) => each === text('alg')),
    kid: text('kid'),
  }
}

const keyTypes = ['EC', 'OKP', 'RSA'] as const
const curves = ['P-256', 'Ed25519'] as const
const algorithms = ['ES256', 'EdDSA', 'Ed25519', 'PS256', 'RS256'] as const

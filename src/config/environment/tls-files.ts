import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { errorCode, type Instant } from '../../kernel/index.ts'
import { backendServices } from '../backends.ts'
import type { Configuration } from '../schema.ts'

interface TlsFiles {
  ca?: string | undefined
  cert?: string | undefined
  key?: string | undefined
}

type Names = Record<keyof TlsFiles, string>

const certificatePattern = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

class TlsFileCheck {
  readonly errors: string[] = []
  readonly #now: Instant

  constructor(now: Instant) {
    this.#now = now
  }

  check(names: Names, { ca, cert, key }: TlsFiles): void {
    if (ca !== undefined) this.#checkAuthorities(names.ca, ca)
    const chain = cert === undefined ? [] : this.#certificates(names.cert, cert)
    for (const each of chain) this.#checkTimes(names.cert, cert ?? '', each)
    const [certificate] = chain
    const text = key === undefined ? undefined : this.#read(names.key, key)
    if (key === undefined || text === undefined) return
    try {
      const privateKey = createPrivateKey(text)
      if (certificate && !certificate.checkPrivateKey(privateKey))
        this.errors.push(`${names.key}: ${key} does not belong to the certificate in ${cert}`)
    } catch {
      this.errors.push(`${names.key}: ${key} is not a PEM private key without a passphrase`)
    }
  }

  /** Bundles of authorities often contain expired ones, so one valid authority is enough. */
  #checkAuthorities(name: string, file: string): void {
    const found = this.#certificates(name, file)
    const areExpired = found.every(({ validToDate }) => validToDate.getTime() <= this.#now)
    if (found.length > 0 && areExpired)
      this.errors.push(`${name}: ${file} contains only expired certificates; renew them`)
  }

  #checkTimes(name: string, file: string, { validFromDate, validToDate }: X509Certificate): void {
    if (validToDate.getTime() <= this.#now)
      this.errors.push(`${name}: ${file} contains a certificate that expired on ${validToDate.toISOString()}; renew it`)
    if (validFromDate.getTime() > this.#now)
      this.errors.push(`${name}: ${file} contains a certificate that is not valid yet; check it and the clock`)
  }

  #read(name: string, file: string): string | undefined {
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      this.errors.push(
        `${name}: cannot read ${file} (${errorCode(error) ?? 'unreadable'}); check its path and permissions`,
      )
      return undefined
    }
  }

  #certificates(name: string, file: string): X509Certificate[] {
    const text = this.#read(name, file)
    if (text === undefined) return []
    try {
      const found = (text.match(certificatePattern) ?? []).map((pem) => new X509Certificate(pem))
      if (found.length === 0) this.errors.push(`${name}: ${file} contains no PEM certificate`)
      return found
    } catch {
      this.errors.push(`${name}: ${file} contains an invalid certificate`)
      return []
    }
  }
}

export function tlsFileErrors(
  {
    backends,
    passThrough,
    portals,
    databaseUrl,
  }: Pick<Configuration, 'backends' | 'passThrough' | 'portals' | 'databaseUrl'>,
  extraCaFile: string | undefined,
  now: Instant,
): string[] {
  const files = new TlsFileCheck(now)
  const upstreams = [
    ...backendServices({ backends }),
    ...passThrough.map(({ tls }, index) => ({ path: `passThrough.${index}`, tls })),
  ]
  for (const { path, tls } of upstreams)
    if (tls) {
      const { caFile, certFile, keyFile } = tls
      const names = { ca: `${path}.tls.caFile`, cert: `${path}.tls.certFile`, key: `${path}.tls.keyFile` }
      files.check(names, { ca: caFile, cert: certFile, key: keyFile })
    }
  for (const [portal, { identityProviders = [] }] of Object.entries(portals))
    for (const [index, { privateKeyFile }] of identityProviders.entries()) {
      const key = `portals.${portal}.identityProviders.${index}.privateKeyFile`
      files.check({ ca: '', cert: '', key }, { key: privateKeyFile })
    }
  const parameters = databaseUrl === null ? undefined : URL.parse(databaseUrl.reveal())?.searchParams
  const parameter = (name: string): string | undefined => parameters?.get(name) ?? undefined
  files.check(
    { ca: 'DATABASE_URL: sslrootcert', cert: 'DATABASE_URL: sslcert', key: 'DATABASE_URL: sslkey' },
    { ca: parameter('sslrootcert'), cert: parameter('sslcert'), key: parameter('sslkey') },
  )
  files.check({ ca: 'NODE_EXTRA_CA_CERTS', cert: '', key: '' }, { ca: extraCaFile })
  return files.errors
}

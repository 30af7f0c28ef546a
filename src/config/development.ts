import { hash } from 'node:crypto'

/*
 * What everybody knows of a development deployment (design.md section 7), and of the examples. Production refuses each
 * of them.
 */
const sha256 = (text: string): string => hash('sha256', text)

const developmentAccessCodes = ['consumer-dev', 'system-dev']
export const developmentAccessCodeHashes: ReadonlySet<string> = new Set(developmentAccessCodes.map(sha256))

/** What config/production.example.yaml and deploy/kubernetes show, to be replaced by whoever copies them. */
const exampleAccessCodes = ['test', 'test2']
export const exampleAccessCodeHashes: ReadonlySet<string> = new Set(exampleAccessCodes.map(sha256))

/** 32 bytes, so that a newcomer needs no key; worthless as a secret. */
export const developmentKey = (): Uint8Array<ArrayBuffer> =>
  new Uint8Array(hash('sha256', 'portico development key', 'buffer'))

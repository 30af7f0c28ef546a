import { observedErrors } from '../contract/refusals.ts'
import { isSealable } from '../contract/sealed-bodies.ts'
import { type Chain, locales, type Operation } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

type Presence = 'required' | 'optional' | 'none'
type Rule = (operation: Operation, chain: Chain) => Presence

export interface HeaderRow {
  name: string
  description: string
  schema: JsonObject
  example?: string
  /** Whether an operation takes it: interface.md 4.1, as the gateway's stages demand it. */
  rule: Rule
}

const text: JsonObject = { type: 'string' }
/** As a list of one: generators of clients leave out an operation whose header is a `const`. */
const one = (value: string): JsonObject => ({ type: 'string', enum: [value] })
const visible = (maxLength: number): JsonObject => ({ type: 'string', minLength: 1, maxLength, pattern: '^[!-~]+$' })

const behindPortal: Rule = (_, { perimeter }) => (perimeter === 'portal' ? 'required' : 'none')
const ofStreams: Rule = ({ reply }) => (reply === 'stream' ? 'optional' : 'none')
const ofChannel: Rule = (operation, chain) => (isSealable(operation, chain) ? 'optional' : 'none')
const ofWorkspace: Rule = ({ policy }, { perimeter }) =>
  policy.workspace === 'required' && perimeter !== 'portal' ? 'optional' : policy.workspace
const endsChannel = ({ id }: Operation): boolean => observedErrors.get(id)?.condition === 'no-channel-session'

/** Every header that is a parameter, by its component's name. */
export const headerTable: Record<string, HeaderRow> = {
  PortalAccessCode: {
    name: 'X-PORTAL-ACCESS-CODE',
    description: 'Portal access code.',
    schema: text,
    example: 'consumer-dev',
    rule: (operation, chain) => (chain.portal === 'SYSTEM' ? 'none' : behindPortal(operation, chain)),
  },
  SystemAccessCode: {
    name: 'X-PORTAL-ACCESS-CODE',
    description: 'Access code of the SYSTEM portal.',
    schema: text,
    example: 'system-dev',
    rule: (operation, chain) => (chain.portal === 'SYSTEM' ? behindPortal(operation, chain) : 'none'),
  },
  RequestId: {
    name: 'X-Request-Id',
    description:
      'Unique request id, echoed in the answer. For a money command it is the idempotency key: the same id and body ' +
      'within 24 hours get the first answer again, another body is refused.',
    schema: visible(128),
    example: '8f0c3a52-6f2d-4b55-9a5c-0d4b8f6f6c11',
    rule: ({ policy }, { perimeter }) => (perimeter === 'portal' || policy.idempotent ? 'required' : 'optional'),
  },
  ClientHash: {
    name: 'X-Client-Hash',
    description: 'Client fingerprint: one and the same through a login and as long as its tokens are used.',
    schema: visible(256),
    example: '3q2-7wFhb0nq8nT0kP5o',
    rule: (_, { perimeter }) => (perimeter === 'machine' ? 'optional' : 'required'),
  },
  ForwardedProto: {
    name: 'X-Forwarded-Proto',
    description: 'Protocol; set by the edge proxy.',
    schema: one('https'),
    example: 'https',
    rule: behindPortal,
  },
  ConnectingIp: {
    name: 'CF-Connecting-IP',
    description: 'Client IP, IPv4 or IPv6; set by the edge proxy.',
    schema: text,
    example: '203.0.113.7',
    rule: behindPortal,
  },
  Ray: {
    name: 'Cf-Ray',
    description: 'Request id of the edge proxy.',
    schema: visible(64),
    example: '8f3a1b2c3d4e5f60',
    rule: behindPortal,
  },
  IpCountry: {
    name: 'cf-ipcountry',
    description: 'Client country; set by the edge proxy.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9]{2}$' },
    example: 'DE',
    rule: behindPortal,
  },
  Locale: {
    name: 'X-LOCALE',
    description: `Language of labels and messages: ${locales.join(', ')}; any other falls back to en.`,
    schema: { type: 'string', minLength: 1, maxLength: 64, pattern: '^[ -~]+$' },
    example: 'en',
    rule: behindPortal,
  },
  MachineLocale: {
    name: 'X-LOCALE',
    description: `Language of labels and messages: ${locales.join(', ')}; anything else is read as en.`,
    schema: text,
    example: 'en',
    rule: (_, { perimeter }) => (perimeter === 'machine' ? 'optional' : 'none'),
  },
  AcceptLanguage: {
    name: 'Accept-Language',
    description: `Language of messages: ${locales.join(', ')}; default en.`,
    schema: text,
    example: 'en',
    rule: (_, { perimeter }) => (perimeter === 'self' ? 'optional' : 'none'),
  },
  WorkspaceId: {
    name: 'X-Workspace-Id',
    description:
      'Workspace to work in. Where it is optional: by default the account’s default workspace, or the one that the ' +
      'API key implies.',
    schema: { type: 'string', format: 'uuid' },
    rule: ofWorkspace,
  },
  ChannelSession: {
    name: 'X-Secure-Channel-Session-Id',
    description: 'Session of the secure channel: with it the body is a sealed one, `{payload}`.',
    schema: text,
    rule: (operation, chain) => (endsChannel(operation) ? 'optional' : ofChannel(operation, chain)),
  },
  ChannelReply: {
    name: 'X-Secure-Channel-Reply',
    description: '`encrypted`: `data` comes back sealed under the session’s key, as `{payload}`.',
    schema: one('encrypted'),
    rule: ofChannel,
  },
  ShortChannelSession: {
    name: 'X-SC-Session-Id',
    description: 'The same as X-Secure-Channel-Session-Id, by its other name.',
    schema: text,
    rule: (operation) => (endsChannel(operation) ? 'optional' : 'none'),
  },
  Range: { name: 'Range', description: 'Part of the bytes.', schema: text, rule: ofStreams },
  IfNoneMatch: { name: 'If-None-Match', description: 'ETag of what the caller has.', schema: text, rule: ofStreams },
  IfRange: { name: 'If-Range', description: 'ETag of what the part belongs to.', schema: text, rule: ofStreams },
}

import { z } from 'zod'
import { domainOf, type Operation, pathParamNames } from '../kernel/index.ts'
import { systemIds } from '../platform/runtime/index.ts'
import { developmentIds } from '../seed/development.ts'
import type { Call, Credentials, Reply } from './http.ts'
import { deriveValid } from './inputs.ts'
import { isCommand, isInWorkspace, pathWith, type Route, routesOf } from './routes.ts'
import type { EffectStore } from './store.ts'

export interface Gateway {
  readonly url: string
  call(method: string, path: string, call: Call): Promise<Reply>
  signIn(email: string): Promise<Credentials>
  /** Waits for a matching mail and returns the newest. */
  mailTo(address: string, matches: RegExp): Promise<{ text: string }>
  /** Null if the store is out of reach. */
  effects: EffectStore | null
  stop(): Promise<void>
}

/** Valid input of an operation. */
export interface Sample {
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: Readonly<Record<string, unknown>>
  /** Body fields that can contain ids of other workspaces. */
  crossWorkspace?: readonly string[]
}

/** A new workspace of `owner@demo.test`, for the entities of samples. */
export interface Place {
  workspaceId: string
  /**
   * Calls an operation and returns its data: as the owner, or as `operator@demo.test` if only SYSTEM has it. Throws
   * unless the call succeeds.
   */
  run<T>(operation: Operation & { reply: z.ZodType<T> }, input?: Sample): Promise<T>
  /** Sends a request as the owner, such as an upload. */
  call(method: string, path: string, call?: Call): Promise<Reply>
  /** Returns the newest matching mail to an address. Waits for one. */
  mailTo: Gateway['mailTo']
}

/** Valid input by operation id. Each function creates the entities that it names. */
export type Samples = Readonly<Record<string, (place: Place) => Sample | Promise<Sample>>>

const Named = z.object({ data: z.object({ bizId: z.string() }) })
const ApiKey = z.object({ data: z.object({ secret: z.string() }) })

export function bearer({ accessToken, clientHash }: Credentials): Record<string, string> {
  return {
    authorization: `Bearer ${accessToken}`,
    'x-client-hash': clientHash,
  }
}

type Accounts = Pick<World, 'owner' | 'operator' | 'viewer'>

export class World {
  readonly gateway: Gateway
  readonly owner: Credentials
  readonly operator: Credentials
  /** Has all read permissions in the development workspace and no other. */
  readonly viewer: Credentials
  readonly #samples: Samples

  private constructor(gateway: Gateway, { owner, operator, viewer }: Accounts, samples: Samples) {
    this.gateway = gateway
    this.owner = owner
    this.operator = operator
    this.viewer = viewer
    this.#samples = samples
  }

  /** For suites that need no other account of the development seed. */
  static of(gateway: Gateway, accounts: Accounts, samples: Samples): World {
    return new World(gateway, accounts, samples)
  }

  /** `member@demo.test` becomes the viewer. */
  static async open(gateway: Gateway, samples: Samples): Promise<World> {
    const owner = await gateway.signIn('owner@demo.test')
    const viewer = await gateway.signIn('member@demo.test')
    const operator = await gateway.signIn('operator@demo.test')
    const world = new World(gateway, { owner, operator, viewer }, samples)
    await world.#makeViewer()
    return world
  }

  async #makeViewer(): Promise<void> {
    const inWorkspace = { headers: { ...bearer(this.owner), 'x-workspace-id': developmentIds.workspace } }
    const post = (path: string, body: object) => this.#succeed('POST', path, { ...inWorkspace, body })
    const { text } = await this.#succeed('GET', '/web/v1/consumer/roles/permissions/tree', inWorkspace)
    const permissionCodes = [...new Set(text.match(/(?<=")[\w-]+:read(?=")/g))]
    const role = await post('/web/v1/consumer/roles', { roleName: 'Viewer', permissionCodes })
    const profile = await this.#succeed('GET', '/web/v1/consumer/profile', { headers: bearer(this.viewer) })
    await post('/web/v1/consumer/roles/members/role/change', {
      userBizId: Named.parse(profile.body).data.bizId,
      roleBizId: Named.parse(role.body).data.bizId,
    })
  }

  async #succeed(method: string, path: string, call: Call): Promise<Reply> {
    const reply = await this.gateway.call(method, path, call)
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
    return reply
  }

  /** Throws if the store is out of reach. */
  get effects(): EffectStore {
    if (!this.gateway.effects) throw new Error('this suite reads the store of the gateway')
    return this.gateway.effects
  }

  /** Returns credentials with every permission on the route's chain. */
  ownerOf({ chain }: Pick<Route, 'chain'>): Credentials {
    return chain.portal === 'SYSTEM' ? this.operator : this.owner
  }

  /** Includes the workspace if the policy has one. Operators have no workspace. */
  headersFor(route: Route, workspaceId: string = developmentIds.workspace): Record<string, string> {
    const { policy, describesCaller } = route.operation
    const { caller, workspace } = policy
    const hasWorkspace = workspace !== 'none' && !(describesCaller && route.chain.portal === 'SYSTEM')
    return {
      ...(caller === 'account' && bearer(this.ownerOf(route))),
      ...(hasWorkspace && { 'x-workspace-id': workspaceId }),
    }
  }

  send(route: Route, headers: Call['headers'] = {}, { params = {}, query, body }: Sample = {}): Promise<Reply> {
    const text = query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ''
    const sent = route.method !== 'GET' && route.operation.body !== 'none' ? { body: body ?? {} } : {}
    return this.gateway.call(route.method, pathWith(route, params) + text, { headers, ...sent })
  }

  async createApiKey(workspaceId: string, permissionCodes: readonly string[]): Promise<string> {
    const created = await this.#succeed('POST', '/web/v1/consumer/api-keys', {
      headers: { ...bearer(this.owner), 'x-workspace-id': workspaceId },
      body: { apiKeyName: 'Machine', permissionCodes },
    })
    return ApiKey.parse(created.body).data.secret
  }

  async openPlace(workspaceKind: 'SANDBOX' | 'LIVE' = 'SANDBOX'): Promise<Place> {
    const created = await this.#succeed('POST', '/web/v1/consumer/workspaces', {
      headers: bearer(this.owner),
      body: { workspaceName: `Place ${systemIds.next()}`.slice(0, 40), workspaceKind },
    })
    const workspaceId = Named.parse(created.body).data.bizId
    const headers = { ...bearer(this.owner), 'x-workspace-id': workspaceId }
    return {
      workspaceId,
      mailTo: (address, matches) => this.gateway.mailTo(address, matches),
      call: (method, path, call = {}) =>
        this.gateway.call(method, path, { ...call, headers: { ...headers, ...call.headers } }),
      run: async (operation, input = {}) => {
        const routes = routesOf([['', operation]])
        const route = routes.find(({ chain }) => chain.perimeter !== 'machine')
        if (!route) throw new Error(`${operation.id} is on no chain of a portal`)
        const reply = await this.send(route, this.headersFor(route, workspaceId), input)
        if (reply.status !== 200) throw new Error(`${operation.id}: ${reply.status} ${reply.text}`)
        return z.object({ data: operation.reply }).parse(reply.body).data
      },
    }
  }

  async findSample(place: Place, operationId: string): Promise<Sample | undefined> {
    return Object.hasOwn(this.#samples, operationId) ? this.#samples[operationId]?.(place) : undefined
  }

  /** Writes what the samples and commands of a domain write. A command can be refused. */
  async writeIn(place: Place, routes: readonly Route[], domain: string): Promise<void> {
    for (const id of Object.keys(this.#samples).filter((each) => domainOf(each) === domain)) {
      const sample = await this.findSample(place, id)
      const route = routes.find((each) => each.operation.id === id && isInWorkspace(each) && isCommand(each))
      if (route) await this.send(route, this.headersFor(route, place.workspaceId), sample)
    }
  }

  /** Throws if the sample is incomplete. The error names what to add. */
  async sampleIn(place: Place, { operation: { id, path } }: Route): Promise<Sample> {
    const sample = await this.findSample(place, id)
    const missing = pathParamNames(path).filter((name) => sample?.params?.[name] === undefined)
    if (sample && missing.length === 0) return sample
    throw missingSample(id, missing)
  }

  /** Uses the sample, or derives input from the schemas. Throws an error that names what to add. */
  async validInputIn(place: Place, { operation: { id, query, body } }: Route): Promise<Sample> {
    const sample = await this.findSample(place, id)
    const hasBody = typeof body !== 'string'
    const validBody = hasBody ? (sample?.body ?? deriveValid(body)) : undefined
    const validQuery = sample?.query ?? (query ? deriveValid(query) : {})
    if (!validQuery || (hasBody && !validBody)) throw missingSample(id, [])
    const texts = Object.fromEntries(Object.entries(validQuery).map(([name, value]) => [name, String(value)]))
    return { ...(sample?.params && { params: sample.params }), query: texts, ...(validBody && { body: validBody }) }
  }
}

function missingSample(id: string, params: readonly string[]): Error {
  return new Error(
    `add valid input${params.length > 0 ? ` with ${params.join(' and ')}` : ''} for '${id}' to \`samples\` of promises()`,
  )
}

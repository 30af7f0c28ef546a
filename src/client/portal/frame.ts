import type { Locale, Portal } from '../../kernel/index.ts'
import type { ChannelFeature } from '../channel/handshake.ts'
import { type CallerPorts, GatewayCaller } from '../operation-caller.ts'
import { type PortalOptions, resolveOptions, type SessionMode, type Settings } from '../options.ts'
import type { Passkeys } from '../passkeys/feature.ts'
import type { SessionFeature, SessionPart } from '../session/modes.ts'
import type { StepUpFeature } from '../session/step-up.ts'
import { createTransport } from '../transport.ts'
import type { OperationParts } from './operation.ts'

/** Members of a client besides its calls. */
export interface PortalFrame<M extends SessionMode = 'tokens'> {
  signOut(): Promise<void>
  /**
   * Closes the secure channel, removes the listeners of the session, and ends a sign-in with a passkey. The user remains
   * signed in.
   */
  close(): Promise<void>
  readonly session: SessionPart<M>['session']
  /** Tokens and channel sessions are bound to this X-Client-Hash. */
  clientHash(): Promise<string>
}

/** Common to the calls of a client. */
export interface ClientView {
  locale?: Locale
  /** Default of `workspaceId` in calls. */
  workspaceId?: string
}

export type Framed<M extends SessionMode, Calls> = Calls &
  PortalFrame<M> & {
    /** Returns a client with the same sign-in, and another language or default workspace. */
    with(view: ClientView): Framed<M, Calls>
  }

interface FrameParts<M extends SessionMode> {
  portal: Portal
  options: PortalOptions
  routeOf: CallerPorts['routeOf']
  session: SessionFeature<M>
  /** Without it, calls that must be sealed reject. */
  secureChannel: ChannelFeature | null
  stepUp: StepUpFeature | null
  passkeys: Passkeys | null
  /** For operations that do not bring theirs. */
  parts: OperationParts
}

/** The parts of a client that its calls use. */
export interface FrameView<M extends SessionMode> {
  caller: GatewayCaller
  part: SessionPart<M>
  settings: Settings
  workspaceId: string | undefined
  passkeys: Passkeys | null
}

/** Builds a client from its parts. `callsOf` returns its calls. */
export function createFrame<M extends SessionMode, Calls extends object>(
  { portal, options, routeOf, session, secureChannel, stepUp, passkeys, parts }: FrameParts<M>,
  callsOf: (view: FrameView<M>) => Calls,
): Framed<M, Calls> {
  const { now = Date.now, onSignedOut = () => undefined } = options
  const part = session({
    portal: options.mount?.portal ?? portal,
    clientHash: options.clientHash ?? null,
    now,
    onSignedOut,
    caller: () => caller,
  })
  const settings = resolveOptions({ ...options, session: part.mode })
  const ports: CallerPorts = {
    settings,
    routeOf,
    transport: createTransport(settings, parts, part.signer),
    parts,
    clientHash: part.clientHash,
    tokens: () => part.tokens,
    channels: () => channels,
    stepUp: null,
  }
  const caller = new GatewayCaller(ports)
  const channels = secureChannel?.(caller, now) ?? null
  const build = (view: CallerPorts): Framed<M, Calls> => {
    // The mails of a sign-in and of a step-up are in the language of the view.
    const own: GatewayCaller = new GatewayCaller({
      ...view,
      stepUp: stepUp && ((operation, args) => stepUp({ caller: own, passkeys }, operation, args)),
    })
    const frame: PortalFrame<M> = {
      signOut: () => part.signOut(),
      close: async () => {
        passkeys?.abandon()
        part.close()
        await channels?.close()
      },
      session: part.session,
      clientHash: part.clientHash,
    }
    const calls = callsOf({ caller: own, part, settings: view.settings, workspaceId: view.workspaceId, passkeys })
    return Object.assign(calls, frame, {
      with: ({ locale = view.settings.locale, workspaceId = view.workspaceId }: ClientView) =>
        build({ ...view, settings: { ...view.settings, locale }, workspaceId }),
    })
  }
  return build(ports)
}

/** Throws a TypeError for a client without passkeys. */
export function assertPasskeys({ passkeys }: Pick<FrameView<SessionMode>, 'passkeys'>): Passkeys {
  if (!passkeys) throw new TypeError('pass `passkeys` to createClient')
  return passkeys
}

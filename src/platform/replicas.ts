import { type Clock, type Durations, type Ids, type Instant, isRecord, minutes, Refusal } from '../kernel/index.ts'
import type { PubSub } from './pubsub.ts'

/** The processes of a deployment that share Redis. Without it, a process knows only itself. */
export interface Replicas {
  /** Answers a question of any replica. One function per question. */
  answer(question: string, work: Answer): void
  /** Asks all replicas, this one included. Throws SYSTEM.UNAVAILABLE if too many questions wait. */
  gather(question: string, argument: string): Promise<Gathered>
  /** Tells the other replicas that this one ends on purpose. */
  close(): void
}

/** The result must be JSON. */
type Answer = (argument: string) => Promise<unknown>

export interface Gathered {
  /** This replica first. */
  answers: { replica: string; result: unknown }[]
  /** Replicas that did not answer in time, although they were seen lately. */
  missing: { replica: string; lastSeenAt: Instant }[]
}

interface Ports {
  /**
   * Equal for all replicas of a deployment, because pub/sub reaches every database of a Redis server. Null if replicas
   * cannot reach each other.
   */
  deployment: string | null
  pubsub: PubSub
  clock: Clock
  durations: Durations
  ids: Ids
}

const topic = 'replicas'
const presenceEveryMs = 10_000
/** Redis confirms the subscription within this time. Messages before it are lost. */
const introductionMs = 1_000
/** Until then, this replica may not know the others. */
const settledMs = 3_000
/** A replica that did not say that it ends is missing for this time. */
const rememberedMs = minutes(5)
/** Readiness checks of a replica whose database hangs take most of it. */
export const gatherTimeoutMs = 1_500
const maxPeers = 1_000
/** Further questions are refused, because each one makes every replica work. */
const maxWaiting = 16
/** Further questions of others are ignored: each one makes this replica check its stores. */
const maxAnswering = 64
const maxMessageLength = 262_144
const maxIdLength = 64
/** Names appear in headers. */
const replicaNames = /^[\w.:-]{1,300}$/

interface Waiting {
  answers: Map<string, { replica: string; result: unknown }>
  finishIfComplete(): void
}

interface Peer {
  name: string
  seenAt: Instant
}

/** `name` is for people. Messages can be lost, and replicas know each other soon after their start. */
export function joinReplicas(name: string, { deployment, pubsub, clock, durations, ids }: Ports): Replicas {
  const self: string = ids.next()
  const peers = new Map<string, Peer>()
  const questions = new Map<string, Answer>()
  const waiting = new Map<string, Waiting>()

  const send = (message: object): void =>
    pubsub.publish(topic, JSON.stringify({ deployment, from: self, name, ...message }))

  const see = (from: string, peer: string): void => {
    for (const [id, { seenAt }] of peers) if (clock.now() - seenAt > rememberedMs) peers.delete(id)
    if (peers.has(from) || peers.size < maxPeers) peers.set(from, { name: peer, seenAt: clock.now() })
  }

  let answering = 0
  const reply = async (to: string, id: string, question: string, argument: string): Promise<void> => {
    if (answering >= maxAnswering) return
    answering += 1
    try {
      const result = await questions.get(question)?.(argument)
      const message = { kind: 'answer', to, id, result }
      if (JSON.stringify(message).length <= maxMessageLength) send(message)
    } finally {
      answering -= 1
    }
  }

  const receive = ({ kind, from, name: peer, ...message }: Record<string, unknown>): void => {
    if (message.deployment !== deployment || typeof from !== 'string' || from === self) return
    if (from.length > maxIdLength) return
    if (typeof peer !== 'string' || !replicaNames.test(peer)) return
    if (kind === 'end') return void peers.delete(from)
    see(from, peer)
    const { id, to, question, argument, result } = message
    if (kind === 'start') send({ kind: 'here' })
    if (kind === 'answer' && to === self && typeof id === 'string') {
      const asked = waiting.get(id)
      asked?.answers.set(from, { replica: peer, result })
      asked?.finishIfComplete()
    }
    if (kind !== 'question' || typeof id !== 'string') return
    if (typeof question === 'string' && typeof argument === 'string')
      // The replica that asks shows this one as missing.
      reply(from, id, question, argument).catch(() => undefined)
  }

  pubsub.subscribe(topic, (text) => {
    const message = parse(text)
    if (message) receive(message)
  })
  const joinedAt = durations.now()
  const isSettled = (): boolean => deployment === null || durations.now() - joinedAt >= settledMs
  send({ kind: 'start' })
  const introduction = durations.after(introductionMs, () => send({ kind: 'start' }))
  introduction.unref()
  const presence = durations.every(presenceEveryMs, () => send({ kind: 'here' }))
  presence.unref()

  return {
    answer: (question, work) => void questions.set(question, work),
    gather: async (question, argument) => {
      if (waiting.size >= maxWaiting)
        throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'too many questions to the replicas wait', retryAfter: 1 })
      const id: string = ids.next()
      const complete = Promise.withResolvers<void>()
      const answers: Waiting['answers'] = new Map()
      const finishIfComplete = (): void => {
        if (isSettled() && [...peers.keys()].every((peer) => answers.has(peer))) complete.resolve()
      }
      waiting.set(id, { answers, finishIfComplete })
      const timer = durations.after(gatherTimeoutMs, complete.resolve)
      try {
        send({ kind: 'question', id, question, argument })
        finishIfComplete()
        const [own] = await Promise.all([questions.get(question)?.(argument), complete.promise])
        return {
          answers: [{ replica: name, result: own }, ...answers.values()],
          missing: [...peers].flatMap(([peer, { name: replica, seenAt }]) =>
            answers.has(peer) ? [] : [{ replica, lastSeenAt: seenAt }],
          ),
        }
      } finally {
        timer.close()
        waiting.delete(id)
      }
    },
    close: () => {
      introduction.close()
      presence.close()
      send({ kind: 'end' })
    },
  }
}

/** Undefined for a text that no replica of this version sends. */
function parse(text: string): Record<string, unknown> | undefined {
  if (text.length > maxMessageLength) return undefined
  try {
    const message: unknown = JSON.parse(text)
    return isRecord(message) ? message : undefined
  } catch {
    return undefined
  }
}

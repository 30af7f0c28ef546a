import { chains, successCode, successMessage } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

const frame: JsonObject = {
  version: { type: 'string', examples: [chains.consumer.envelope, chains.self.envelope] },
  timestamp: { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' },
}
// No type `null`: of a frame that has one, and is narrowed beside it, some generators make no client at all.
const nothing: JsonObject = { const: null }
const required = ['version', 'timestamp', 'success', 'code', 'message', 'data']

/** The frames of every JSON answer (interface.md 2.1). */
export const envelopeComponents: Record<string, JsonObject> = {
  Success: {
    type: 'object',
    properties: {
      ...frame,
      success: { const: true },
      code: { type: 'string', const: successCode },
      message: { type: 'string', examples: [successMessage] },
      data: {},
    },
    required,
  },
  Refusal: {
    type: 'object',
    properties: {
      ...frame,
      success: { const: false },
      code: { type: 'string' },
      message: { type: 'string', description: 'For people, in their language; it may name the input at fault.' },
      data: nothing,
    },
    required,
  },
  SelfRefusal: {
    type: 'object',
    description: 'The refusals of users/self have numeric codes; the 401 carries nothing but these three members.',
    properties: {
      ...frame,
      success: { const: false },
      code: { type: 'string' },
      message: { type: 'string' },
      data: nothing,
    },
    required: ['success', 'code', 'message'],
  },
}

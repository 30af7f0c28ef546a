import { chains, successCode, successMessage } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

const frame: JsonObject = {
  version: { type: 'string', examples: [chains.consumer.envelope, chains.self.envelope] },
  timestamp: { type: 'integer', description: 'Epoch milliseconds.' },
}
const required = ['version', 'timestamp', 'success', 'code', 'message', 'data']

/** The frames of every JSON answer (interface.md 2.1). */
export const envelopeComponents: Record<string, JsonObject> = {
  Success: {
    type: 'object',
    properties: {
      ...frame,
      success: { const: true },
      code: { const: successCode },
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
      data: { type: 'null' },
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
      data: { type: 'null' },
    },
    required: ['success', 'code', 'message'],
  },
}

/**
 * Proofs that a caller holds a private key: JWTs that are valid for one request. Depends on the kernel, the cache, which
 * knows the proofs that were used, and jose. Start reading in `request-proofs.ts`.
 */

export { type PublicJwk, type PublicKey, parsePublicKey, proofAlgorithms } from './public-key.ts'
export { type KeyProof, type ProvenRequest, RequestProofs } from './request-proofs.ts'

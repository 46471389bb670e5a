/** Afterturn for the Vercel AI SDK, and the types of its HTTP API. */

export { afterturn, type AfterturnMiddleware, type AfterturnOptions } from "./middleware.js";
export { RefusedError, UnavailableError, type ServiceOptions } from "./service.js";
export type { components, operations, paths } from "./openapi.js";

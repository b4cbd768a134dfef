/** A JSON Schema (2020-12), as far as this server writes them. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly propertyNames?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

/** Something that a request carries beside its body. */
export interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly schema: JsonSchema;
}

/** A body by its content type. */
export type OpenApiContent = Readonly<
  Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>
>;

/** One possible answer. */
export interface OpenApiResponse {
  readonly description: string;
  readonly headers?:
    | Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>
    | undefined;
  readonly content?: OpenApiContent | undefined;
}

/** One thing that can be asked. */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description: string;
  readonly 'x-role': string;
  readonly 'x-tenancy': string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly OpenApiParameter[] | undefined;
  readonly requestBody?: { readonly required: boolean; readonly content: OpenApiContent } | undefined;
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

/** An OpenAPI 3.1 document, as this server writes it. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string }[];
  /** By path, then by method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

/** Where a named schema is. */
export const SCHEMA_REF = '#/components/schemas/';

// A service for the domain `profile`, for Java 17 or newer and Maven. In examples/services/java:
//
//   PORT=8081 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json mvn -q compile exec:java
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.jose4j.json.JsonUtil;
import org.jose4j.jwa.AlgorithmConstraints.ConstraintType;
import org.jose4j.jwk.HttpsJwks;
import org.jose4j.jwt.MalformedClaimException;
import org.jose4j.jwt.consumer.*;
import org.jose4j.keys.resolvers.HttpsJwksVerificationKeyResolver;
import org.jose4j.lang.JoseException;

public class ProfileService {
  static final Map<String, Object> names = new ConcurrentHashMap<>();
  static final String notFound =
      "{\"success\": false, \"code\": \"RESOURCE.NOT_FOUND\", \"message\": \"\", \"data\": null}";

  static JwtConsumer consumer() {
    var keys = new HttpsJwks(System.getenv("PORTICO_JWKS"));
    keys.setDefaultCacheDuration(30); // Seconds for which a revoked key is accepted.
    keys.setRefreshReprieveThreshold(1_000);
    return new JwtConsumerBuilder()
        .setVerificationKeyResolver(new HttpsJwksVerificationKeyResolver(keys))
        .setJwsAlgorithmConstraints(ConstraintType.PERMIT, "EdDSA")
        .setExpectedType(true, "portico-call+jwt")
        .setExpectedIssuer("portico").setExpectedAudience("profile-service")
        .setRequireExpirationTime().setRequireSubject().setAllowedClockSkewInSeconds(5).build();
  }

  static Map<String, Object> coded(String code, int value) {
    return Map.of("code", code, "value", value, "label", code, "description", code);
  }

  static Map<String, Object> toProfile(String account) {
    var at = "2026-01-01T00:00:00.000Z";
    var profile = new HashMap<String, Object>(Map.of("bizId", account, "institutionBizId", account, "createdAt", at,
        "updatedAt", at, "accountEmail", "someone@example.com", "accountPhone", "", "defaultLanguage", "en",
        "defaultTimezone", "UTC", "defaultCountry", "US", "accountName", names.getOrDefault(account, "Someone")));
    profile.putAll(Map.of("accountPortal", coded("CONSUMER", 10010104), "accountStatus", coded("ACTIVE", 10010202)));
    profile.put("accountRemark", null);
    return profile;
  }

  static void handle(HttpExchange exchange, JwtConsumer consumer) throws IOException {
    try {
      var body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      var bearer = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Authorization"), "");
      var account = consumer.processToClaims(bearer.replaceFirst("^Bearer ", "")).getSubject();
      var path = exchange.getRequestURI().getPath();
      var name = path.endsWith("/update") ? JsonUtil.parseJson(body).get("accountName") : null;
      if (name != null) names.put(account, name);
      var isKnown = path.matches("/web/v1/consumer/profile(/update)?");
      var reply = isKnown ? JsonUtil.toJson(toProfile(account)) : notFound;
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(isKnown ? 200 : 404, 0);
      exchange.getResponseBody().write(reply.getBytes(StandardCharsets.UTF_8));
      exchange.close();
    } catch (InvalidJwtException | MalformedClaimException invalid) {
      exchange.sendResponseHeaders(401, -1); // No envelope: a fault of the deployment, not of a user.
    } catch (JoseException malformed) {
      throw new IOException(malformed);
    }
  }

  public static void main(String[] arguments) throws IOException {
    var port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8081"));
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    var consumer = consumer();
    server.createContext("/", exchange -> handle(exchange, consumer));
    server.start();
  }
}

package interop;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Map;

/** Stores earthquakes in a database. Every writer in Java does this work, and fails in the same three ways. */
public final class EarthquakeStore {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Connection connection;

    public EarthquakeStore() {
        try {
            connection = DriverManager.getConnection("jdbc:h2:mem:");
            connection.createStatement().execute(
                "CREATE TABLE earthquakes (id VARCHAR PRIMARY KEY, gap DOUBLE PRECISION NOT NULL,"
                    + " depth DOUBLE PRECISION NOT NULL CONSTRAINT depth_is_positive CHECK (depth >= 0))");
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Parses and stores one feature. Raises what Jackson, Java and the database raise. */
    public void store(byte[] feature) throws IOException, SQLException {
        store(JSON.readValue(feature, Map.class));
    }

    /** Stores a parsed feature. */
    public void store(Map<?, ?> feature) throws SQLException {
        Map<?, ?> properties = (Map<?, ?>) feature.get("properties");
        double gap = ((Number) properties.get("gap")).doubleValue();
        Map<?, ?> geometry = (Map<?, ?>) feature.get("geometry");
        double depth = ((Number) ((java.util.List<?>) geometry.get("coordinates")).get(2)).doubleValue();
        String sql = "MERGE INTO earthquakes VALUES (?, ?, ?)";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, (String) feature.get("id"));
            statement.setDouble(2, gap);
            statement.setDouble(3, depth);
            statement.execute();
        }
    }
}
